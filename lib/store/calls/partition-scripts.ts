import type { CallId, Partition } from '../partition.js';
import type { PartitionKeys, StoreKeys } from '../keys.js';
import type { ScriptName } from '../lua/lua-script.js';
import type { Driver, Given, Reply } from '../driver.interface.js';
import { NumberedCalls } from './numbered-calls.js';
import type { StoreOptions } from '../store-options.interface.js';

/** Runs scripts on partitions. */
export class PartitionScripts {
  readonly #driver: Driver;
  readonly #keys: StoreKeys;
  readonly #numbered = new NumberedCalls();

  constructor({ driver, keys }: StoreOptions) {
    this.#driver = driver;
    this.#keys = keys;
  }

  /** @param adds see {@link Driver.run} */
  run<N extends ScriptName>(
    name: N,
    partition: Partition,
    given: Given<N, PartitionKeys>,
    adds?: boolean,
  ): Promise<Reply> {
    return this.#driver.run(name, this.#keys.partition(partition), given, adds);
  }

  /** Returns the identity of a call, for recognizing a repeat: the key of the caller's latest call, and the number of this one. */
  named(partition: Partition, { caller, sequence }: CallId): { answered: string; sequence: number } {
    return { answered: this.#keys.answered(partition, caller), sequence };
  }

  /** Returns the identity of a call without a name. */
  nextCall(partition: Partition): { answered: string; sequence: number } {
    return this.#numbered.next((caller) => this.#keys.answered(partition, caller));
  }
}
