import type { AdminStore } from '../admin-store.interface.js';

/** What the broker in memory lets its {@link MemoryAdminStore} look at. */
export interface MemoryAdminAccess {
  readonly topics: () => string[];
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
}
