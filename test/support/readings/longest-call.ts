import { setPriority } from 'node:os';
import type { Redis } from 'ioredis';
import { SCRIPT_NAMES, scriptOf } from '../internals.js';
import { report } from './statistics.js';

/** For how long one call may keep Redis from everybody else, in milliseconds. */
export const LONGEST_BLOCK = 10;

/** How often something is done at most, until no call takes longer. */
const RUNS = 8;

/** What takes longer is noted, in milliseconds. */
const NOTED = 0.2;

const SCRIPTS = scriptNames();

/**
 * The longest call that Redis served while something was done to it, whoever made it, in milliseconds; it is printed.
 *
 * The slow log counts the time for which Redis had to wait for a processor, too. That can befall any call, while what a
 * call takes by itself it takes each time. So where one took too long, all is done again, a few times. Of the calls
 * of each script for each partition the longest one counts in each run, and of the runs the best one.
 *
 * @param prepare comes before each time and is not watched: where what is done cannot be done twice
 */
export async function longestCall(
  redis: Redis,
  what: string,
  operation: () => Promise<unknown>,
  prepare?: () => Promise<unknown>,
): Promise<number> {
  await preferServer(redis);
  let best: ReadonlyMap<string, number> | undefined;
  let longest = 0;
  for (let run = 1; run <= RUNS; run++) {
    await prepare?.();
    await beginNotes(redis);
    const begin = performance.now();
    await operation();
    const took = performance.now() - begin;
    best = shorter(best, await endNotes(redis));
    const [kind, time] = longestOf(best);
    report(`${what}: ${took.toFixed(0)} ms, the longest call ${time.toFixed(2)} ms (${kind})`);
    longest = time;
    if (longest <= LONGEST_BLOCK) break;
  }
  return longest;
}

/** The same for work of many steps, each of which can be repeated at once: only those that took too long are. */
export class WatchedSteps {
  readonly #redis: Redis;
  readonly #begin = performance.now();
  #longest: readonly [kind: string, time: number] = ['none', NOTED];
  #repeats = 0;

  private constructor(redis: Redis) {
    this.#redis = redis;
  }

  static async begin(redis: Redis): Promise<WatchedSteps> {
    await preferServer(redis);
    return new WatchedSteps(redis);
  }

  /** @returns what the last run of the step did */
  async step<T>(work: () => Promise<T>): Promise<T> {
    let best: readonly [kind: string, time: number] | undefined;
    for (let run = 1; ; run++) {
      await beginNotes(this.#redis);
      const result = await work();
      const longest = longestOf(await endNotes(this.#redis));
      if (!best || longest[1] < best[1]) best = longest;
      if (best[1] <= LONGEST_BLOCK || run === RUNS) {
        if (best[1] > this.#longest[1]) this.#longest = best;
        return result;
      }
      this.#repeats++;
    }
  }

  /** Prints the longest call of all steps, and gives it in milliseconds. */
  end(what: string): number {
    const [kind, time] = this.#longest;
    const took = (performance.now() - this.#begin).toFixed(0);
    report(`${what}: ${took} ms, the longest call ${time.toFixed(2)} ms (${kind}), ${this.#repeats} steps repeated`);
    return time;
  }
}

async function beginNotes(redis: Redis): Promise<void> {
  await redis
    .pipeline()
    .config('SET', 'slowlog-max-len', '100000')
    .config('SET', 'slowlog-log-slower-than', String(NOTED * 1000))
    .slowlog('RESET')
    .exec();
}

async function endNotes(redis: Redis): Promise<Map<string, number>> {
  await redis.config('SET', 'slowlog-log-slower-than', '-1');
  return longestByKind((await redis.slowlog('GET', -1)) as SlowLogEntry[]);
}

function longestOf(kinds: ReadonlyMap<string, number>): [kind: string, time: number] {
  return [...kinds].toSorted(([, a], [, b]) => b - a)[0] ?? ['none', NOTED];
}

type SlowLogEntry = readonly [number: number, at: number, microseconds: number, command: readonly string[]];

/** The longest call of each script or other command on its first key, in milliseconds. */
function longestByKind(entries: readonly SlowLogEntry[]): Map<string, number> {
  const longest = new Map<string, number>();
  for (const [, , microseconds, command] of entries) {
    const kind = kindOf(command);
    // That is how it is measured here.
    if (kind.startsWith('slowlog')) continue;
    longest.set(kind, Math.max(longest.get(kind) ?? 0, microseconds / 1000));
  }
  return longest;
}

function kindOf([command = '', first = '', , key = '']: readonly string[]): string {
  const script = SCRIPTS.get(first);
  return script ? `${script} of ${key}` : `${command.toLowerCase()} ${first}`;
}

/** What was not noted in one of two runs took no longer in it than what is noted. */
function shorter(a: ReadonlyMap<string, number> | undefined, b: ReadonlyMap<string, number>): Map<string, number> {
  return new Map([...b].map(([kind, time]) => [kind, Math.min(time, a ? (a.get(kind) ?? NOTED) : Infinity)]));
}

/** Keeps other programs of this machine out of the measure, as far as this user may. */
async function preferServer(redis: Redis): Promise<void> {
  const pid = Number(/^process_id:(\d+)/m.exec(await redis.info('server'))?.[1]);
  try {
    setPriority(pid, -10);
  } catch {
    // Then it is as good as the machine is idle.
  }
}

/** The name of each script by its hash, with the flags that Redis 7 is sent and without. */
function scriptNames(): Map<string, string> {
  return new Map(
    SCRIPT_NAMES.flatMap((name) =>
      ['', '#!lua flags=allow-oom\n'].map((firstLine) => [scriptOf(name, firstLine).sha, name] as const),
    ),
  );
}
