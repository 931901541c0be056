import type { AdminStore, PeekRequest, PeekedMessages } from '../admin-store.interface.js';
import type { Partition } from '../broker.interface.js';
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

  async pause(partition: Partition): Promise<void> {
    this.#access.partition(partition).pause();
  }

  async resume(partition: Partition): Promise<void> {
    this.#access.partition(partition).resume();
  }
}
