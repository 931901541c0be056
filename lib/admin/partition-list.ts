import type { Partition, PeekedMessages, Position, StoredMessage } from '../broker/broker.interface.js';

export type FetchMessages = (partition: Partition, after: Position | undefined) => Promise<PeekedMessages>;

/** The messages of one partition in their order: those that were fetched and not listed yet, and how far it was listed. */
export class PartitionList {
  readonly partition: Partition;
  readonly #fetch: FetchMessages;
  readonly #fetched: StoredMessage[] = [];
  /** Of what was listed last. */
  #position: Position | undefined;
  /** Behind what was fetched last. */
  #next: Position | undefined;
  #more = true;

  /** @param start lists what is behind this place */
  constructor(partition: Partition, start: Position | undefined, fetch: FetchMessages) {
    this.partition = partition;
    this.#fetch = fetch;
    this.#position = this.#next = start;
  }

  /** It has to be filled before anything can be said of its first message. */
  get hungry(): boolean {
    return this.#more && this.#fetched.length === 0;
  }

  get ended(): boolean {
    return !this.#more && this.#fetched.length === 0;
  }

  get first(): StoredMessage | undefined {
    return this.#fetched[0];
  }

  /** Where to go on another time; `undefined` where nothing was listed. */
  get position(): Position | undefined {
    return this.hungry ? this.#next : this.#position;
  }

  async fill(): Promise<void> {
    while (this.hungry) {
      const { messages, next } = await this.#fetch(this.partition, this.#next);
      this.#fetched.push(...messages);
      this.#next = next;
      this.#more = next !== undefined;
    }
  }

  take(): StoredMessage | undefined {
    const stored = this.#fetched.shift();
    if (stored) this.#position = { at: stored.at, storedId: stored.storedId };
    return stored;
  }
}
