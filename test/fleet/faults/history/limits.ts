import type { TopicOptions } from 'nestjs-delay-queue';
import { groupBy } from './group-by.js';

/** What a topic may do at most. Durations in milliseconds. */
export interface TestedLimits {
  readonly rateLimit?: { readonly max: number; readonly per: number; readonly by?: 'topic' | 'key' };
  readonly maxInFlight?: NonNullable<TopicOptions['maxInFlight']>;
}

/** A handler call. Times are epoch milliseconds. */
export interface LimitedRun {
  readonly id: string;
  readonly key: string;
  readonly from: number;
  /** When it ended, or could do no more; infinite if it did not. */
  readonly to: number;
}

/**
 * Finds where more handler calls began within a time than may.
 *
 * @param grain how much the times may be wrong, in milliseconds
 */
export function tooFast(runs: readonly LimitedRun[], { rateLimit }: TestedLimits, grain: number): string[] {
  if (!rateLimit) return [];
  const { max, per, by = 'topic' } = rateLimit;
  const groups = by === 'key' ? groupBy(runs, ({ key }) => key) : new Map([['the topic', runs]]);
  return [...groups].flatMap(([name, group]) => {
    const begins = group.map(({ from }) => from).toSorted((a, b) => a - b);
    return begins.flatMap((first, i) => {
      const next = begins[i + max];
      if (next === undefined || next - first >= per - grain) return [];
      return [`${max + 1} calls of ${name} began from ${first} to ${next}, within ${next - first} ms`];
    });
  });
}

/** Finds where more messages were in flight at once than may. */
export function tooManyAtOnce(runs: readonly LimitedRun[], { maxInFlight }: TestedLimits): string[] {
  const { topic = Infinity, key = Infinity } = maxInFlight || {};
  const byKey = [...groupBy(runs, (run) => run.key)].flatMap(([name, group]) => crowds(group, key, name));
  return [...crowds(runs, topic, 'the topic'), ...byKey];
}

function crowds(runs: readonly LimitedRun[], most: number, name: string): string[] {
  if (most === Infinity) return [];
  const changes = runs.flatMap(({ id, from, to }) => [
    { at: from, by: 1, id },
    { at: to, by: -1, id },
  ]);
  let running = 0;
  // What ends at the moment at which another one begins has ended before.
  return changes
    .toSorted((a, b) => a.at - b.at || a.by - b.by)
    .flatMap(({ at, by, id }) => {
      running += by;
      return by > 0 && running > most ? [`with ${id}, ${running} calls of ${name} ran at ${at}`] : [];
    });
}
