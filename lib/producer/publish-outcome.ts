import { PublishManyError } from '../messages/publish-many.error.js';
import type { PublishedMessage } from '../messages/publish-options.interface.js';

/** Gathers what becomes of messages that were published together, until it is known of all. */
export class PublishOutcome {
  readonly #topic: string;
  readonly #resolve: (published: PublishedMessage[]) => void;
  readonly #reject: (error: PublishManyError) => void;
  readonly #published: PublishedMessage[] = [];
  readonly #failures = new Map<number, unknown>();
  #open: number;

  constructor(
    topic: string,
    messages: number,
    resolve: (published: PublishedMessage[]) => void,
    reject: (error: PublishManyError) => void,
  ) {
    this.#topic = topic;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#published.length = messages;
    this.#open = messages;
  }

  published(place: number, message: PublishedMessage): void {
    this.#published[place] = message;
    this.#count();
  }

  failed(place: number, error: unknown): void {
    this.#failures.set(place, error);
    this.#count();
  }

  #count(): void {
    if (--this.#open > 0) return;
    if (this.#failures.size === 0) this.#resolve(this.#published);
    else this.#reject(new PublishManyError(this.#topic, this.#settled()));
  }

  #settled(): PromiseSettledResult<PublishedMessage>[] {
    return Array.from(this.#published, (value, place) =>
      this.#failures.has(place)
        ? { status: 'rejected', reason: this.#failures.get(place) }
        : { status: 'fulfilled', value },
    );
  }
}
