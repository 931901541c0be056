import type { Broker, Death, ListedDeadLetter, Partition } from '../broker/broker.interface.js';
import type { Clock } from '../time/clock.js';
import { serveWithin } from '../time/serve-within.js';
import { partitionOf } from '../messages/partitioner.js';
import { toStoredId } from '../messages/stored-id.js';
import { type Located, locateById } from '../topics/locate-by-id.js';
import type { CheckedFilter } from './checked-filter.js';
import type { CheckedSelection } from './checked-options.js';
import { scanDeadLetters } from './dead-letter-scan.js';

export interface DeadLetterFinderOptions {
  readonly store: Pick<Broker, 'get' | 'locate' | 'configOf' | 'listDead' | 'requeueDead' | 'removeDead' | 'now'>;
  readonly clock: Clock;
  /** Longest time for one call, in milliseconds. */
  readonly timeout: number;
}

/** A dead letter with what is stored of it. */
export interface FoundDeadLetter extends Death {
  readonly partition: Partition;
  readonly envelope: string;
}

/** Dead letters of one partition. */
export interface DeadLetterPortion {
  readonly partition: Partition;
  readonly letters: readonly Death[];
}

/** Finds the dead letters that a caller means. */
export class DeadLetterFinder {
  readonly #options: DeadLetterFinderOptions;

  constructor(options: DeadLetterFinderOptions) {
    this.#options = options;
  }

  /** Makes a call of the broker until it is served, for so long as one call may take. */
  serve<T>(call: () => Promise<T>): Promise<T> {
    const { clock, timeout } = this.#options;
    return serveWithin(clock, timeout, call);
  }

  /** One dead letter; of several that an id without its key may mean, the first one. */
  async one(topic: string, { id, key }: { id: string; key?: string }): Promise<FoundDeadLetter | undefined> {
    const partitions = await this.#partitions(topic);
    if (partitions === 0) return undefined;
    const place = (storedId: string, of: string): Located => {
      return { partition: { topic, index: partitionOf(of, partitions) }, storedId };
    };
    if (key !== undefined) return this.#dead(place(toStoredId(id, key), key));
    const own = await this.#dead(place(toStoredId(id), id));
    if (own) return own;
    const others = await this.serve(() => locateById(this.#options.store, topic, id, partitions));
    for (const other of others) {
      const found = await this.#dead(other);
      if (found) return found;
    }
    return undefined;
  }

  /**
   * What a selection means, in portions of one partition each, by turns.
   *
   * @param size most of one portion
   */
  async *portions(topic: string, selection: CheckedSelection, size: number): AsyncGenerator<DeadLetterPortion, void> {
    if ('id' in selection) {
      const found = await this.one(topic, selection);
      if (found) yield { partition: found.partition, letters: [found] };
      return;
    }
    yield* byTurns(
      (await this.#placesOf(topic, selection.filter)).map((partition) =>
        this.#deaths(partition, selection.filter, size),
      ),
    );
  }

  /** Every dead letter of the topic with its failure. */
  async *all(topic: string): AsyncGenerator<readonly ListedDeadLetter[], void> {
    for (const partition of await this.#placesOf(topic, {})) yield* this.#scan(partition, {}, true);
  }

  async *#deaths(partition: Partition, filter: CheckedFilter, size: number): AsyncGenerator<DeadLetterPortion, void> {
    for await (const page of this.#scan(partition, filter)) {
      // Without the failures, which may be long: every partition's page is kept while the others have their turn.
      const deaths = page.map(({ storedId, diedAt }): Death => ({ storedId, diedAt }));
      for (let from = 0; from < deaths.length; from += size) {
        yield { partition, letters: deaths.slice(from, from + size) };
      }
    }
  }

  #scan(partition: Partition, filter: CheckedFilter, withFailures?: boolean): AsyncGenerator<ListedDeadLetter[], void> {
    const { store } = this.#options;
    const serve = <T>(call: () => Promise<T>): Promise<T> => this.serve(call);
    return scanDeadLetters({ store, partition, filter, serve, ...(withFailures && { withFailures }) });
  }

  /** Where messages that the filter means can be. */
  async #placesOf(topic: string, { key }: CheckedFilter): Promise<Partition[]> {
    const partitions = await this.#partitions(topic);
    if (key !== undefined && partitions > 0) return [{ topic, index: partitionOf(key, partitions) }];
    return Array.from({ length: partitions }, (_, index) => ({ topic, index }));
  }

  async #partitions(topic: string): Promise<number> {
    const config = await this.serve(() => this.#options.store.configOf(topic));
    return config?.partitions ?? 0;
  }

  async #dead({ partition, storedId }: Located): Promise<FoundDeadLetter | undefined> {
    const stored = await this.serve(() => this.#options.store.get(partition, storedId));
    if (stored?.state !== 'dead') return undefined;
    return { partition, storedId, diedAt: stored.at, envelope: stored.envelope };
  }
}

/** The next value of each generator in turn, until all have ended. */
async function* byTurns<T>(generators: readonly AsyncGenerator<T, void>[]): AsyncGenerator<T, void> {
  let open = generators;
  while (open.length > 0) {
    const going: AsyncGenerator<T, void>[] = [];
    for (const generator of open) {
      const { value, done } = await generator.next();
      if (done) continue;
      yield value;
      going.push(generator);
    }
    open = going;
  }
}
