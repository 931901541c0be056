import type { DelayedMessage } from '../../messages/delayed-message.interface.js';

/**
 * What is needed of a client of `@nestjs/microservices`: `ClientProxy` fits, and so does anything else with such a function.
 *
 * @publicApi
 */
export interface ForwardClient {
  /** Sends an event. What it returns completes once the event is sent, and errors if it cannot be. */
  emit(pattern: unknown, data: unknown): ForwardedEvent;
}

/**
 * An Observable, as far as it is needed.
 *
 * @publicApi
 */
export interface ForwardedEvent {
  subscribe(observer: { next(value: unknown): void; error(error: unknown): void; complete(): void }): {
    unsubscribe(): void;
  };
}

/**
 * Which client the messages of a topic are forwarded to, and how.
 *
 * @publicApi
 */
export interface ForwardOptions {
  /** A `ClientProxy`, or the token under which the application provides one: a name, a symbol or a class. @defaultValue it must be given */
  client: ForwardClient | string | symbol | (abstract new (...args: never[]) => ForwardClient);
  /** What consumers listen to, as in `client.emit(pattern, data)`: a text, or an object with something in it. @defaultValue it must be given */
  pattern: string | Readonly<Record<string, unknown>>;
  /**
   * Makes what is emitted, such as a record with headers. What it throws is what a handler throws. Most clients emit JSON, so it is also the
   * place to write what the topic's `serializer` has restored and JSON would lose, such as a `Map`. @defaultValue the payload, as it was published
   */
  data?: (message: DelayedMessage) => unknown;
  /** Messages that are forwarded at once in this process, 1 to 100,000. @defaultValue 20 */
  concurrency?: number;
}
