import type {
  AdminStore,
  ClearResult,
  EditResult,
  EnvelopeEdit,
  PeekRequest,
  PeekedMessages,
} from '../admin-store.interface.js';
import type { CallId, Partition, RescheduleResult } from '../broker.interface.js';
import type { MemoryPartitionAdmin } from './memory-partition-admin.js';

/** What the broker in memory lets its {@link MemoryAdminStore} look at. */
export interface MemoryAdminAccess {
  readonly topics: () => string[];
  readonly partition: (partition: Partition) => MemoryPartitionAdmin;
}

/** The same rules as the scripts in `redis/lua` that operators use. */
export class MemoryAdminStore implements AdminStore {
  readonly #access: MemoryAdminAccess;

  constructor(access: MemoryAdminAccess) {
    this.#access = access;
  }

  async topics(): Promise<string[]> {
    return this.#access.topics().toSorted();
  }

  async peek(partition: Partition, request: PeekRequest): Promise<PeekedMessages> {
    return this.#access.partition(partition).peek(request);
  }

  async runNow(partition: Partition, call: CallId, storedId: string): Promise<RescheduleResult> {
    return this.#access.partition(partition).runNow(call, storedId);
  }

  async edit(partition: Partition, call: CallId, edit: EnvelopeEdit): Promise<EditResult> {
    return this.#access.partition(partition).edit(call, edit);
  }

  async clear(partition: Partition, call: CallId, state: 'scheduled' | 'dead'): Promise<ClearResult> {
    return this.#access.partition(partition).clear(call, state);
  }

  async pause(partition: Partition): Promise<void> {
    this.#access.partition(partition).pause();
  }

  async resume(partition: Partition): Promise<void> {
    this.#access.partition(partition).resume();
  }
}
