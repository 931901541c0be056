import type { Unsubscribe } from '../broker.interface.js';
import type { RedisConnection } from './redis-connection.js';

type Listener = (message: string) => void;

/** Receives what other processes publish on channels, and subscribes again after each reconnect. */
export class SignalSubscriber {
  readonly #connection: RedisConnection;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    const deliver = (channel: string, message: string): void => {
      for (const listener of this.#listeners.get(channel) ?? []) listener(message);
    };
    connection.subscriber.on('message', deliver);
    connection.subscriber.on('smessage', deliver);
    connection.subscriber.on('ready', () => {
      for (const channel of this.#listeners.keys()) {
        // Where this fails the connection is lost again, and the next one subscribes.
        this.#send('subscribe', channel).catch((error: unknown) => connection.tellError(connection.toError(error)));
      }
    });
  }

  /** @throws BrokerUnavailableError */
  async subscribe(channel: string, listener: Listener): Promise<Unsubscribe> {
    let listeners = this.#listeners.get(channel);
    if (!listeners) this.#listeners.set(channel, (listeners = new Set()));
    listeners.add(listener);
    try {
      await this.#send('subscribe', channel);
    } catch (error) {
      this.#remove(channel, listener);
      throw this.#connection.toError(error);
    }
    return async () => {
      const isLast = this.#remove(channel, listener);
      // Where this fails the connection is gone, and the subscription with it.
      if (isLast) await this.#send('unsubscribe', channel).catch(() => {});
    };
  }

  /**
   * Subscribes again to every channel. Where the subscriptions are there that changes nothing, and the answers prove that
   * the connection works.
   *
   * @throws BrokerUnavailableError
   */
  async confirm(): Promise<void> {
    try {
      await Promise.all([...this.#listeners.keys()].map((channel) => this.#send('subscribe', channel)));
    } catch (error) {
      throw this.#connection.toError(error);
    }
  }

  async #send(command: 'subscribe' | 'unsubscribe', channel: string): Promise<void> {
    const { subscriber, isRedis7 } = this.#connection;
    if (command === 'subscribe') await (isRedis7 ? subscriber.ssubscribe(channel) : subscriber.subscribe(channel));
    else await (isRedis7 ? subscriber.sunsubscribe(channel) : subscriber.unsubscribe(channel));
  }

  /** @returns whether nobody listens to the channel any more */
  #remove(channel: string, listener: Listener): boolean {
    const listeners = this.#listeners.get(channel);
    if (!listeners?.delete(listener) || listeners.size > 0) return false;
    return this.#listeners.delete(channel);
  }
}
