import type {
  AdminStore,
  ClearResult,
  EditResult,
  EnvelopeEdit,
  PeekRequest,
  PeekedMessages,
} from '../broker/admin-store.interface.js';
import type { CallId, Partition, RescheduleResult } from '../broker/broker.interface.js';

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

  async runNow(partition: Partition, call: CallId, storedId: string): Promise<RescheduleResult> {
    return this.#call('runNow', (store) => store.runNow(partition, call, storedId));
  }

  async edit(partition: Partition, call: CallId, edit: EnvelopeEdit): Promise<EditResult> {
    return this.#call('edit', (store) => store.edit(partition, call, edit));
  }

  async clear(partition: Partition, call: CallId, state: 'scheduled' | 'dead'): Promise<ClearResult> {
    return this.#call('clear', (store) => store.clear(partition, call, state));
  }

  async pause(partition: Partition): Promise<void> {
    return this.#call('pause', (store) => store.pause(partition));
  }

  async resume(partition: Partition): Promise<void> {
    return this.#call('resume', (store) => store.resume(partition));
  }
}
