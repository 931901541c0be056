import type { RedisConnection } from '../broker/redis/connection/redis-connection.js';
import { FINISH, GIVE_BACK, NOTE_STORED, PAGE } from './bullmq-scripts.js';

/** Most jobs that are read, and moved, at once: a script holds Redis up for a few milliseconds then. */
const PAGE_SIZE = 500;

/** The newest major version of BullMQ whose keys are known. */
const NEWEST_MAJOR = 6;

/** A delayed job: BullMQ's own times of a millisecond, in which it counts jobs of the same time. */
const SCORES_PER_MILLISECOND = 4096;

/** Why BullMQ has to keep a job. */
export type JobObstacle = 'scheduler' | 'flow' | 'no-record';

/** A delayed job as it is stored. */
export interface BullmqJob {
  readonly id: string;
  /** Its key in Redis, which no other job has. */
  readonly key: string;
  /** Where it is: `taken` out of BullMQ's hands, and `stored` once its message is. */
  readonly place: 'delayed' | 'taken' | 'stored';
  readonly obstacle: JobObstacle | undefined;
  /** Epoch milliseconds. */
  readonly dueAt: number;
  readonly name: string;
  /** JSON. */
  readonly data: string;
  /** JSON. */
  readonly options: string;
  /** How often it has failed. */
  readonly attemptsMade: number;
  /** The id under which BullMQ refuses others while this one waits. */
  readonly deduplicationId: string | undefined;
}

/** How many jobs BullMQ has. */
export interface BullmqCounts {
  readonly delayed: number;
  /** Those that are due: `wait`, `paused` and `prioritized`. */
  readonly waiting: number;
  readonly active: number;
}

/** What came of asking for jobs to take. */
export type TakenJobs = { readonly jobs: readonly BullmqJob[] } | { readonly otherDestination: string };

type Row = readonly [id: string, place: BullmqJob['place'], score: string, obstacle: JobObstacle | '', ...Fields];
type Fields = readonly [
  name: string | null,
  data: string | null,
  options: string | null,
  attemptsMade: string | null,
  deduplicationId: string | null,
];

/** A queue of BullMQ, of which delayed jobs are taken. */
export class BullmqQueue {
  readonly #connection: RedisConnection;
  /** What its keys begin with. */
  readonly #base: string;

  /** @param prefix BullMQ's option `prefix` */
  constructor(connection: RedisConnection, prefix: string, name: string) {
    this.#connection = connection;
    this.#base = `${prefix}:${name}:`;
  }

  /**
   * Which version of BullMQ has made it, such as `bullmq:6.7.0`; empty if it is so old that it does not say.
   *
   * @returns `undefined` if there is no such queue
   */
  async version(): Promise<string | undefined> {
    const meta = this.#key('meta');
    const [exists, version] = await this.#connection.send(async (redis) =>
      Promise.all([redis.exists(meta), redis.hget(meta, 'version')]),
    );
    return exists === 1 ? (version ?? '') : undefined;
  }

  /** Jobs that are delayed, or were taken by an import that did not come to its end. */
  async look(offset: number): Promise<readonly BullmqJob[]> {
    const [, rows] = await this.#page(offset, '');
    return rows.map((row) => this.#job(row));
  }

  /**
   * Takes jobs out of BullMQ's hands: first those that an import took that did not come to its end. Those with an obstacle are
   * told, and stay.
   *
   * @param offset how many delayed jobs to pass over
   * @param destination where they go; what was taken to go elsewhere has to get there first
   */
  async take(offset: number, destination: string): Promise<TakenJobs> {
    const [otherDestination, rows] = await this.#page(offset, destination);
    return otherDestination === '' ? { jobs: rows.map((row) => this.#job(row)) } : { otherDestination };
  }

  /** Notes that the messages of jobs are stored, and answers which jobs another import has moved, or somebody has removed. */
  async noteStored(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    return (await this.#run(NOTE_STORED, ['taken'], ids)) as string[];
  }

  /** Removes jobs that were taken. */
  async finish(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#run(FINISH, ['taken', 'meta', 'events'], ids);
  }

  /** Gives jobs back that were taken, unless their messages are stored. */
  async giveBack(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#run(GIVE_BACK, ['delayed', 'taken', 'marker'], ids);
  }

  async counts(): Promise<BullmqCounts> {
    const [delayed, wait, paused, prioritized, active] = await this.#connection.send(async (redis) =>
      Promise.all([
        redis.zcard(this.#key('delayed')),
        redis.llen(this.#key('wait')),
        redis.llen(this.#key('paused')),
        redis.zcard(this.#key('prioritized')),
        redis.llen(this.#key('active')),
      ]),
    );
    return { delayed, waiting: wait + paused + prioritized, active };
  }

  async #page(offset: number, destination: string): Promise<readonly [otherDestination: string, rows: readonly Row[]]> {
    const reply = await this.#run(PAGE, ['delayed', 'taken'], [offset, PAGE_SIZE, destination]);
    return reply as [string, Row[]];
  }

  async #run(script: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const names = keys.map((name) => this.#key(name));
    return this.#connection.send(
      async (redis) => redis.eval(script, names.length, ...names, this.#base, ...args),
      names[0],
    );
  }

  #key(name: string): string {
    return `${this.#base}${name === 'taken' ? 'moving-to-delay-queue' : name}`;
  }

  #job([id, place, score, obstacle, name, data, options, attemptsMade, deduplicationId]: Row): BullmqJob {
    return {
      id,
      key: `${this.#base}${id}`,
      place,
      obstacle: obstacle === '' ? undefined : obstacle,
      dueAt: Math.floor(Number(score) / SCORES_PER_MILLISECOND),
      name: name ?? '',
      data: data ?? '',
      options: options ?? '',
      attemptsMade: Number(attemptsMade ?? 0),
      deduplicationId: deduplicationId ?? undefined,
    };
  }
}

/** Whether the keys of a queue are known that this version of BullMQ has made. */
export function isKnownVersion(version: string): boolean {
  const [, major] = /^bullmq:(\d+)\./.exec(version) ?? [];
  return version === '' || Number(major) <= NEWEST_MAJOR;
}
