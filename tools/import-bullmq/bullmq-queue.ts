import type { RedisConnection } from '../../lib/engines/redis/connection/redis-connection.js';
import { FINISH, GIVE_BACK, NOTE, PAGE, READ } from './bullmq-scripts.js';
import { type Note, parseNote } from './taken-note.js';

/** Most jobs to read, and to move, at once: a script then blocks Redis for a few milliseconds. */
const PAGE_SIZE = 500;

/** The newest major version of BullMQ whose keys are known. */
const NEWEST_MAJOR = 6;

/** Scores of a delayed job per millisecond, in which BullMQ counts jobs of the same time. */
const SCORES_PER_MILLISECOND = 4096;

/** Reason why BullMQ has to keep a job. */
export type JobObstacle = 'scheduler' | 'flow' | 'no-record';

/** A delayed job as it is stored. */
export interface BullmqJob {
  readonly id: string;
  /** Its key in Redis. Another job may have had it before, and a job in another server or database may have the same. */
  readonly key: string;
  /** Note about it; `undefined` if it is with BullMQ. */
  readonly note: Note | undefined;
  readonly obstacle: JobObstacle | undefined;
  /** Its score among BullMQ's delayed jobs. */
  readonly score: string;
  /** Epoch milliseconds. */
  readonly dueAt: number;
  /** Time at which it was created, according to its creator, in epoch milliseconds. */
  readonly timestamp: string;
  readonly name: string;
  /** JSON, as its creator wrote it. */
  readonly data: Uint8Array;
  /** JSON. */
  readonly options: string;
  /** Number of failed attempts. */
  readonly attemptsMade: number;
  /** The id under which BullMQ refuses others while this one waits. */
  readonly deduplicationId: string | undefined;
}

/** End of a page of delayed jobs. */
export type PageEnd = Pick<BullmqJob, 'id' | 'score'>;

/** Jobs that imports have taken and not finished. */
export interface TakenJobs {
  /** Their destination; `undefined` if there are none. */
  readonly destination: string | undefined;
  /** Notes by the ids of the jobs. */
  readonly notes: ReadonlyMap<string, string>;
}

/** A job, and the note that it must have for an action to take place. */
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

/** Numbers of jobs that BullMQ has. */
export interface BullmqCounts {
  readonly delayed: number;
  /** Due jobs: `wait`, `paused` and `prioritized`. */
  readonly waiting: number;
  readonly active: number;
}

/** Result of an attempt to take jobs. */
export type Taking = { readonly jobs: readonly BullmqJob[] } | { readonly otherDestination: string };

/** Id, note, score, obstacle, name, data, and so on; as bytes, since anything that is not UTF-8 would become something else. */
type Row = readonly (Buffer | null)[];

/** Index of the job's data in a row. */
const DATA = 5;

/** Client of its Redis. */
export type BullmqRedis = Pick<RedisConnection, 'send'>;

/** A queue of BullMQ, from which delayed jobs are taken. */
export class BullmqQueue {
  readonly #redis: BullmqRedis;
  /** Prefix of its keys. */
  readonly #base: string;

  /** @param prefix BullMQ's option `prefix` */
  constructor(redis: BullmqRedis, prefix: string, name: string) {
    this.#redis = redis;
    this.#base = `${prefix}:${name}:`;
  }

  /** Returns the version of BullMQ that made it; `undefined` if there is no such queue. */
  async version(): Promise<QueueVersion | undefined> {
    const meta = this.#key('meta');
    const [exists, version] = await this.#redis.send(async (redis) =>
      Promise.all([redis.exists(meta), redis.hget(meta, 'version')]),
    );
    if (exists !== 1) return undefined;
    const name = version ?? '';
    return { name, isKnown: isKnownVersion(name) };
  }

  /** Returns the jobs that were taken by imports that did not finish, or that run at the same time. */
  async taken(): Promise<TakenJobs> {
    const key = this.#key('taken');
    const { '': destination, ...notes } = await this.#redis.send(async (redis) => redis.hgetall(key), key);
    return { destination, notes: new Map(Object.entries(notes)) };
  }

  /** Reads the first of the given taken jobs, as many as are read at once, without those that are no longer taken. */
  async read(ids: readonly string[]): Promise<readonly BullmqJob[]> {
    const rows = (await this.#run(READ, ['taken'], ids.slice(0, PAGE_SIZE))) as Row[];
    return this.#jobs(rows);
  }

  /** Reads a page of delayed jobs. */
  async look(after: PageEnd | undefined): Promise<readonly BullmqJob[]> {
    const [, rows] = await this.#page(after, '', '');
    return this.#jobs(rows);
  }

  /**
   * Takes a page of jobs out of BullMQ's hands. Jobs with an obstacle are returned too, and stay.
   *
   * @param destination destination of the jobs; those that were taken for another one have to get there first
   * @param taking prefix of the names of these takings
   */
  async take(after: PageEnd | undefined, destination: string, taking: string): Promise<Taking> {
    const [otherDestination, rows] = await this.#page(after, destination, taking);
    return otherDestination === '' ? { jobs: this.#jobs(rows) } : { otherDestination };
  }

  /**
   * Replaces notes.
   *
   * @returns the actual notes of jobs that have other ones; '' if they are no longer taken, or someone has removed them
   */
  async note(changes: readonly (NotedJob & { readonly next: Note })[]): Promise<ReadonlyMap<string, string>> {
    if (changes.length === 0) return new Map();
    const args = changes.flatMap(({ job, note, next }) => [job.id, note.text, next.text]);
    const others = (await this.#run(NOTE, ['taken'], args)) as [id: Buffer, note: Buffer][];
    return new Map(others.map(([id, note]) => [String(id), String(note)]));
  }

  /** Removes jobs for good that have these notes, and returns the ids of those. */
  async finish(jobs: readonly NotedJob[]): Promise<ReadonlySet<string>> {
    return this.#end(jobs, FINISH, ['taken', 'meta', 'events']);
  }

  /** Gives jobs back to BullMQ that have these notes, and returns the ids of those. Jobs that someone has removed are forgotten. */
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

/** Whether the keys of a queue made by this version of BullMQ are known. */
export function isKnownVersion(version: string): boolean {
  const [, major] = /^bullmq:(\d+)\./.exec(version) ?? [];
  return version === '' || Number(major) <= NEWEST_MAJOR;
}
