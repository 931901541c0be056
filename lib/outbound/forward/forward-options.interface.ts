import type { Observable } from 'rxjs';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';

/**
 * Part of a `ClientProxy` of `@nestjs/microservices` that is used.
 *
 * @publicApi
 */
export interface ForwardClient {
  emit(pattern: unknown, data: unknown): Observable<unknown>;
}

/**
 * Options for forwarding the messages of a topic.
 *
 * @publicApi
 */
export interface ForwardOptions {
  /**
   * Client: its injection token, such as the `name` in `ClientsModule.register()`, or the client itself.
   * @defaultValue it must be given
   */
  client: string | symbol | (abstract new (...dependencies: never[]) => unknown) | ForwardClient;
  /** Event to emit, as in `@EventPattern()`: a text, a number or an object. @defaultValue it must be given */
  pattern: string | number | Readonly<Record<string, unknown>>;
  /**
   * Returns the data of the event, or a promise of it, such as an `RmqRecord` with headers. An error that it throws acts like one thrown by
   * a handler.
   *
   * @defaultValue the payload
   * @see docs/guides/forward.md#more-than-the-payload
   */
  data?: (message: DelayedMessage) => unknown;
  /** Most events at once in this process, 1 to 1,000. @defaultValue 20 */
  concurrency?: number;
}
