import { setPriority } from 'node:os';
import type { Redis } from 'ioredis';
import { SCRIPT_NAMES, scriptOf } from '../internals.js';
import { report } from './statistics.js';

/** The longest time for which a call may block Redis, in milliseconds. */
export const LONGEST_BLOCK = 10;

/** The most repetitions until no call takes longer. */
const RUNS = 8;

/** Calls that take longer are recorded, in milliseconds. */
const NOTED = 0.2;

const SCRIPTS = scriptNames();

/**
 * Prints and returns the longest call that Redis served during some work, whoever made it, in milliseconds.
 *
 * The slow log includes the time for which Redis waited for a core. That can happen to any call, but a call that takes long
 * itself does so every time. So if a call took too long, the work is repeated a few times. For each script and partition, the
 * longest call of a run counts, and of all runs the shortest of these.
 *
 * @param prepare runs before each repetition and is not watched; needed if the work cannot be done twice
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

/** The same for work of many steps that can be repeated at once: only steps that took too long are repeated. */
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

  /** @returns the result of the last run of the step */
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

  /** Prints and returns the longest call of all steps, in milliseconds. */
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
    // The measurement itself.
    if (kind.startsWith('slowlog')) continue;
    longest.set(kind, Math.max(longest.get(kind) ?? 0, microseconds / 1000));
  }
  return longest;
}

function kindOf([command = '', first = '', , key = '']: readonly string[]): string {
  const script = SCRIPTS.get(first);
  return script ? `${script} of ${key}` : `${command.toLowerCase()} ${first}`;
}

/** The shorter of two runs; a call that one of them did not record was short in it. */
function shorter(a: ReadonlyMap<string, number> | undefined, b: ReadonlyMap<string, number>): Map<string, number> {
  return new Map([...b].map(([kind, time]) => [kind, Math.min(time, a ? (a.get(kind) ?? NOTED) : Infinity)]));
}

/** Gives Redis priority over other programs of this machine, if this user may do that. */
async function preferServer(redis: Redis): Promise<void> {
  const pid = Number(/^process_id:(\d+)/m.exec(await redis.info('server'))?.[1]);
  try {
    setPriority(pid, -10);
  } catch {
    // Without that right a busy machine falsifies the measurement.
  }
}

/** The name of each script by its hash, with the script flags for Redis 7 and without. */
function scriptNames(): Map<string, string> {
  return new Map(
    SCRIPT_NAMES.flatMap((name) =>
      ['', '#!lua flags=allow-oom\n'].map((firstLine) => [scriptOf(name, firstLine).sha, name] as const),
    ),
  );
}
