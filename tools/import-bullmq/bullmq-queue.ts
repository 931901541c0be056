import type { RedisConnection } from '../../lib/engines/redis/connection/redis-connection.js';
import { FINISH, GIVE_BACK, NOTE, PAGE, READ } from './bullmq-scripts.js';
import { type Note, parseNote } from './taken-note.js';

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
  /** Its key in Redis. Another job may have had it before, and one of another server or database may have the same. */
  readonly key: string;
  /** What is noted of it; `undefined` if it is with BullMQ. */
  readonly note: Note | undefined;
  readonly obstacle: JobObstacle | undefined;
  /** As BullMQ has it among those that are delayed. */
  readonly score: string;
  /** Epoch milliseconds. */
  readonly dueAt: number;
  /** When it was made, as its maker says: epoch milliseconds. */
  readonly timestamp: string;
  readonly name: string;
  /** JSON, as its maker has written it. */
  readonly data: Uint8Array;
  /** JSON. */
  readonly options: string;
  /** How often it has failed. */
  readonly attemptsMade: number;
  /** The id under which BullMQ refuses others while this one waits. */
  readonly deduplicationId: string | undefined;
}

/** Where a page of delayed jobs ended. */
export type PageEnd = Pick<BullmqJob, 'id' | 'score'>;

/** What all imports have taken and not finished. */
export interface TakenJobs {
  /** Where they go; `undefined` if there are none. */
  readonly destination: string | undefined;
  /** By the ids of the jobs. */
  readonly notes: ReadonlyMap<string, string>;
}

/** A job, and what has to be noted of it, so that what is done happens. */
export interface NotedJob {
  readonly job: Pick<BullmqJob, 'id'>;
  readonly note: Pick<Note, 'text'>;
}

export interface QueueVersion {
  /** Such as `bullmq:6.7.0`; empty if it is so old that it does not say. */
  readonly name: string;
  /** Whether its keys are known. */
  readonly isKnown: boolean;
}

/** How many jobs BullMQ has. */
export interface BullmqCounts {
  readonly delayed: number;
  /** Those that are due: `wait`, `paused` and `prioritized`. */
  readonly waiting: number;
  readonly active: number;
}

/** What came of asking for jobs to take. */
export type Taking = { readonly jobs: readonly BullmqJob[] } | { readonly otherDestination: string };

/** In bytes, since what is no UTF-8 would become something else: id, note, score, obstacle, name, data, and so on. */
type Row = readonly (Buffer | null)[];

/** Where in a row the data of the job are. */
const DATA = 5;

/** How its Redis is called. */
export type BullmqRedis = Pick<RedisConnection, 'send'>;

/** A queue of BullMQ, of which delayed jobs are taken. */
export class BullmqQueue {
  readonly #redis: BullmqRedis;
  /** What its keys begin with. */
  readonly #base: string;

  /** @param prefix BullMQ's option `prefix` */
  constructor(redis: BullmqRedis, prefix: string, name: string) {
    this.#redis = redis;
    this.#base = `${prefix}:${name}:`;
  }

  /** Which version of BullMQ has made it; `undefined` if there is no such queue. */
  async version(): Promise<QueueVersion | undefined> {
    const meta = this.#key('meta');
    const [exists, version] = await this.#redis.send(async (redis) =>
      Promise.all([redis.exists(meta), redis.hget(meta, 'version')]),
    );
    if (exists !== 1) return undefined;
    const name = version ?? '';
    return { name, isKnown: isKnownVersion(name) };
  }

  /** What was taken by imports that did not come to their ends, or work at the same time. */
  async taken(): Promise<TakenJobs> {
    const key = this.#key('taken');
    const { '': destination, ...notes } = await this.#redis.send(async (redis) => redis.hgetall(key), key);
    return { destination, notes: new Map(Object.entries(notes)) };
  }

  /** The first ones of jobs that were taken, as many as are read at once, without those that are not taken any more. */
  async read(ids: readonly string[]): Promise<readonly BullmqJob[]> {
    const rows = (await this.#run(READ, ['taken'], ids.slice(0, PAGE_SIZE))) as Row[];
    return this.#jobs(rows);
  }

  /** A page of jobs that are delayed. */
  async look(after: PageEnd | undefined): Promise<readonly BullmqJob[]> {
    const [, rows] = await this.#page(after, '', '');
    return this.#jobs(rows);
  }

  /**
   * Takes a page of jobs out of BullMQ's hands. Those with an obstacle are told, and stay.
   *
   * @param destination where they go; what was taken to go elsewhere has to get there first
   * @param taking what the names of these takings begin with
   */
  async take(after: PageEnd | undefined, destination: string, taking: string): Promise<Taking> {
    const [otherDestination, rows] = await this.#page(after, destination, taking);
    return otherDestination === '' ? { jobs: this.#jobs(rows) } : { otherDestination };
  }

  /**
   * Puts notes in the place of others.
   *
   * @returns what is noted instead of those that have other notes; '' if they are not taken any more, or somebody has removed them
   */
  async note(changes: readonly (NotedJob & { readonly next: Note })[]): Promise<ReadonlyMap<string, string>> {
    if (changes.length === 0) return new Map();
    const args = changes.flatMap(({ job, note, next }) => [job.id, note.text, next.text]);
    const others = (await this.#run(NOTE, ['taken'], args)) as [id: Buffer, note: Buffer][];
    return new Map(others.map(([id, note]) => [String(id), String(note)]));
  }

  /** Removes jobs for good that have these notes, and answers which had. */
  async finish(jobs: readonly NotedJob[]): Promise<ReadonlySet<string>> {
    return this.#end(jobs, FINISH, ['taken', 'meta', 'events']);
  }

  /** Gives jobs back to BullMQ that have these notes, and answers which had. Those that somebody has removed are forgotten. */
  async giveBack(jobs: readonly NotedJob[]): Promise<ReadonlySet<string>> {
    return this.#end(jobs, GIVE_BACK, ['delayed', 'taken', 'marker']);
  }

  async counts(): Promise<BullmqCounts> {
    const [delayed, wait, paused, prioritized, active] = await this.#redis.send(async (redis) =>
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

  async #page(
    after: PageEnd | undefined,
    destination: string,
    taking: string,
  ): Promise<readonly [otherDestination: string, rows: readonly Row[]]> {
    const args = [PAGE_SIZE, after?.score ?? '', after?.id ?? '', destination, taking];
    const [otherDestination, rows] = (await this.#run(PAGE, ['delayed', 'taken'], args)) as [Buffer, Row[]];
    return [String(otherDestination), rows];
  }

  async #end(jobs: readonly NotedJob[], script: string, keys: readonly string[]): Promise<ReadonlySet<string>> {
    if (jobs.length === 0) return new Set();
    const args = jobs.flatMap(({ job, note }) => [job.id, note.text]);
    const ids = (await this.#run(script, keys, args)) as Buffer[];
    return new Set(ids.map(String));
  }

  async #run(script: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const names = keys.map((name) => this.#key(name));
    return this.#redis.send(
      async (redis) => redis.callBuffer('eval', script, names.length, ...names, this.#base, ...args),
      names[0],
    );
  }

  #key(name: string): string {
    return `${this.#base}${name === 'taken' ? 'moving-to-delay-queue' : name}`;
  }

  #jobs(rows: readonly Row[]): BullmqJob[] {
    return rows.map((row) => {
      const [
        id = '',
        note = '',
        score = '',
        obstacle = '',
        name = '',
        ,
        options = '',
        made = '0',
        deduplicationId,
        timestamp = '',
      ] = row.map((field) => field?.toString());
      return {
        id,
        key: `${this.#base}${id}`,
        note: note === '' ? undefined : parseNote(note),
        obstacle: obstacle === '' ? undefined : (obstacle as JobObstacle),
        score,
        dueAt: Math.floor(Number(score) / SCORES_PER_MILLISECOND),
        timestamp,
        name,
        data: row[DATA] ?? Buffer.alloc(0),
        options,
        attemptsMade: Number(made),
        deduplicationId,
      };
    });
  }
}

/** Whether the keys of a queue are known that this version of BullMQ has made. */
export function isKnownVersion(version: string): boolean {
  const [, major] = /^bullmq:(\d+)\./.exec(version) ?? [];
  return version === '' || Number(major) <= NEWEST_MAJOR;
}
