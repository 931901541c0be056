/** What leads to the broker: a connection for calls, and one for signals. Both may be the same. */
export interface BrokerLink {
  /** Whether the connection for calls is up, as far as this process knows. */
  readonly isUp: boolean;
  /**
   * Resolves once the broker has answered a call.
   *
   * @throws BrokerUnavailableError
   */
  ping(): Promise<void>;
  /**
   * Subscribes once more to all that this process listens to; resolves once the broker has confirmed that signals come.
   *
   * @throws BrokerUnavailableError
   */
  listen(): Promise<void>;
  /** Ends a connection that is up and makes it anew. Calls under way on it fail, and may be repeated. */
  rebuild(connection: 'calls' | 'signals'): void;
}
