import type { CallId, Partition } from '../store/partition.js';

/** A message as it was published. */
export interface Published {
  readonly partition: Partition;
  readonly storedId: string;
  readonly envelope: string;
  /** Epoch milliseconds. */
  readonly dueAt: number;
}

/** Keeps what was published, by topic. */
export class PublishedMessages {
  readonly #byTopic = new Map<string, Published[]>();
  readonly #latestCalls = new Map<string, number>();

  of(topic: string): readonly Published[] {
    return this.#byTopic.get(topic) ?? [];
  }

  clear(): void {
    this.#byTopic.clear();
  }

  record(partition: Partition, call: CallId, messages: readonly Omit<Published, 'partition'>[]): void {
    if (this.#isRepeat(partition, call)) return;
    const list = this.#byTopic.get(partition.topic) ?? [];
    this.#byTopic.set(partition.topic, list);
    for (const { storedId, envelope, dueAt } of messages) list.push({ partition, storedId, envelope, dueAt });
  }

  /** A call is made again if its reply was lost. */
  #isRepeat({ topic, index }: Partition, { caller, sequence }: CallId): boolean {
    const name = `${topic}:${index}:${caller}`;
    const isRepeat = this.#latestCalls.get(name) === sequence;
    this.#latestCalls.set(name, sequence);
    return isRepeat;
  }
}
