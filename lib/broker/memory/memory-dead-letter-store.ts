import { assertLength } from '../assert-times.js';
import type { CallId, Partition } from '../broker.interface.js';
import type {
  DeadLetterPage,
  DeadLetterQuery,
  DeadLetterStore,
  Death,
  Requeue,
} from '../dead-letter-store.interface.js';
import type { MemoryDeadLetters } from './memory-dead-letters.js';

/** Dead letters in memory. */
export class MemoryDeadLetterStore implements DeadLetterStore {
  readonly #of: (partition: Partition) => MemoryDeadLetters;

  /** @param of the dead letters of a partition */
  constructor(of: (partition: Partition) => MemoryDeadLetters) {
    this.#of = of;
  }

  async listDead(partition: Partition, query: DeadLetterQuery): Promise<DeadLetterPage> {
    return this.#of(partition).list(query);
  }

  async requeueDead(partition: Partition, call: CallId, deaths: readonly Requeue[], delay: number): Promise<boolean[]> {
    assertLength('The delay', delay);
    return this.#of(partition).requeue(call, deaths, delay);
  }

  async removeDead(partition: Partition, call: CallId, deaths: readonly Death[]): Promise<boolean[]> {
    return this.#of(partition).remove(call, deaths);
  }
}
