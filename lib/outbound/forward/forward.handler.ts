import { isObservable, lastValueFrom } from 'rxjs';
import { ForwardFailedError, UnrecoverableError } from '../../errors/handling.errors.js';
import { errorText } from '../../log.js';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import type { ForwardClient } from './forward-options.interface.js';
import { type ForwardTarget, nameOf } from './resolve-forward.js';

/**
 * Handles messages by emitting them through a client of the application, which the application closes. Returns once the client has
 * completed them, and throws the errors that a handler would.
 */
export class ForwardHandler {
  readonly name: string;
  readonly concurrency: number;
  readonly #target: ForwardTarget;
  readonly #client: ForwardClient;

  constructor(target: ForwardTarget, client: ForwardClient) {
    this.name = nameOf(target);
    this.concurrency = target.concurrency;
    this.#target = target;
    this.#client = client;
  }

  /**
   * @throws UnrecoverableError if there is nothing to send
   * @throws ForwardFailedError if the client fails
   */
  async handle(message: DelayedMessage): Promise<void> {
    const { data: dataOf, pattern } = this.#target;
    const data = await dataOf(message);
    if (data === undefined || data === null) {
      throw new UnrecoverableError(
        `A message of topic '${message.topic}' has no data, and clients of Nest send no event without. Publish it with a payload, or make ` +
          `some with the option 'data'.`,
      );
    }
    try {
      const event: unknown = this.#client.emit(pattern, data);
      if (!isObservable(event)) {
        // A promise that rejects later would end the process.
        await event;
        throw new TypeError('its emit() returns no Observable, as that of a ClientProxy does');
      }
      await lastValueFrom(event, { defaultValue: undefined });
    } catch (error) {
      // The RabbitMQ client throws strings.
      throw new ForwardFailedError(`The ${this.name} has failed: ${errorText(error)}`, { cause: error });
    }
  }
}
