import type { Observable } from 'rxjs';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';

/**
 * What of a `ClientProxy` of `@nestjs/microservices` is used.
 *
 * @publicApi
 */
export interface ForwardClient {
  emit(pattern: unknown, data: unknown): Observable<unknown>;
}

/**
 * Where the messages of a topic are forwarded to.
 *
 * @publicApi
 */
export interface ForwardOptions {
  /**
   * The client: what it is provided as, such as the `name` in `ClientsModule.register()`, or the client itself.
   * @defaultValue it must be given
   */
  client: string | symbol | (abstract new (...dependencies: never[]) => unknown) | ForwardClient;
  /** The event that is emitted, as in `@EventPattern()`: a text, a number or an object. @defaultValue it must be given */
  pattern: string | number | Readonly<Record<string, unknown>>;
  /**
   * Makes the data of the event, or a promise of it, such as an `RmqRecord` with headers. What it throws is as if a handler had thrown it.
   *
   * @defaultValue the payload
   * @see docs/guides/forward.md#more-than-the-payload
   */
  data?: (message: DelayedMessage) => unknown;
  /** Events at once in this process, 1 to 1,000. @defaultValue 20 */
  concurrency?: number;
}
