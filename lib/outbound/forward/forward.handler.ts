import { describe } from '../../checks/describe.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import type { ForwardClient, ForwardedEvent } from './forward-options.interface.js';
import type { ForwardTarget } from './resolve-forward.js';

/** Handles messages by emitting them with a client: returns when the client has, and throws what it fails with. */
export class ForwardHandler {
  readonly #target: ForwardTarget;
  readonly #client: ForwardClient;

  constructor(target: ForwardTarget, client: ForwardClient) {
    this.#target = target;
    this.#client = client;
  }

  async handle(message: DelayedMessage): Promise<void> {
    const { pattern, data: shape } = this.#target;
    const data = shape ? await shape(message) : message.payload;
    // Meanwhile the message may have been cancelled, or have become another process's.
    message.signal.throwIfAborted();
    const event: unknown = this.#client.emit(pattern, data);
    if (!isEvent(event)) {
      throw new ConfigurationError(
        `emit() of the client must return an Observable, as that of a ClientProxy does. Returned: ${describe(event)}.`,
      );
    }
    await completionOf(event, message.signal);
  }
}

/** A client that does not answer must not keep a delivery that has ended. */
async function completionOf(event: ForwardedEvent, signal: AbortSignal): Promise<void> {
  let end: (() => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const subscription = event.subscribe({ next: () => {}, error: reject, complete: resolve });
      end = () => {
        subscription.unsubscribe();
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
    });
  } finally {
    if (end) signal.removeEventListener('abort', end);
  }
}

function isEvent(value: unknown): value is ForwardedEvent {
  return typeof (value as Partial<ForwardedEvent> | null | undefined)?.subscribe === 'function';
}
