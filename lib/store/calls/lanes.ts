import type { Partition } from '../partition.js';

/** Holds a lane for each partition, made at its first use. */
export class Lanes<T> {
  readonly #make: (partition: Partition) => T;
  readonly #lanes = new Map<string, T[]>();

  constructor(make: (partition: Partition) => T) {
    this.#make = make;
  }

  get(topic: string, index: number): T {
    let lanes = this.#lanes.get(topic);
    if (!lanes) this.#lanes.set(topic, (lanes = []));
    return (lanes[index] ??= this.#make({ topic, index }));
  }
}
