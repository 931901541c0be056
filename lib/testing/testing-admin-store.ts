import type { AdminStore, PeekRequest, PeekedMessages } from '../broker/admin-store.interface.js';
import type { Partition } from '../broker/broker.interface.js';

/** Makes a call of the store, watched, and failing where the test says so. */
export type CallAdminStore = <T>(operation: keyof AdminStore, run: (store: AdminStore) => Promise<T>) => Promise<T>;

/** The part of {@link TestingBroker} that operators use. */
export class TestingAdminStore implements AdminStore {
  readonly #call: CallAdminStore;

  constructor(call: CallAdminStore) {
    this.#call = call;
  }

  async topics(): Promise<string[]> {
    return this.#call('topics', (store) => store.topics());
  }

  async peek(partition: Partition, request: PeekRequest): Promise<PeekedMessages> {
    return this.#call('peek', (store) => store.peek(partition, request));
  }

  async pause(partition: Partition): Promise<void> {
    return this.#call('pause', (store) => store.pause(partition));
  }

  async resume(partition: Partition): Promise<void> {
    return this.#call('resume', (store) => store.resume(partition));
  }
}
