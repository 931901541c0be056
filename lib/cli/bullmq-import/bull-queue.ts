import type { RedisConnection } from '../../broker/redis/redis-connection.js';
import { MAX_PAYLOAD_BYTES } from '../../checks/limits.js';
import { type BullKeys, bullKeys } from './bull-keys.js';
import { ImportScript } from './import-script.js';
import finish from './lua/finish.lua';
import giveBack from './lua/give-back.lua';
import leave from './lua/leave.lua';
import park from './lua/park.lua';
import take from './lua/take.lua';

/** Most jobs of one step: no script takes more than a few milliseconds. */
export const MOST_JOBS = 200;

/** How long an import that was killed keeps others away, in milliseconds; `includes/fence.lua` has the same. */
export const LOCK_TIME = 10_000;

/** What BullMQ multiplies a due time with, for the order of jobs that are due in the same millisecond. */
const SCORES_PER_MS = 0x1000;

const SCRIPTS = {
  take: new ImportScript(take),
  park: new ImportScript(park),
  finish: new ImportScript(finish),
  giveBack: new ImportScript(giveBack),
  leave: new ImportScript(leave),
};

/** What jobs wait in. */
export type BullList = 'delayed' | 'prioritized' | 'wait' | 'paused';

/** Whether a job can be taken, or why not. `refused`: this run has given it back. */
export type Verdict = 'taken' | 'flow' | 'repeated' | 'large' | 'refused' | 'unknown';

export interface MetJob extends TakenJob {
  readonly verdict: Verdict;
}

/** A job by its id, and where it was taken from: above 0 a due time, 0 waiting, below 0 a priority. */
export interface TakenJob {
  readonly id: string;
  readonly score: string;
}

/** Where to go on in a list. */
export interface Place {
  /** Score to go on at. */
  readonly from: string;
  /** How many jobs stay there that were met before. */
  readonly offset: number;
}

export const BEGINNING: Place = { from: '-inf', offset: 0 };

/** The fields of a job's hash that matter; `null` for those that it does not have. */
export interface StoredJob extends TakenJob {
  readonly fields: Readonly<Record<JobField, string | null>>;
}

const JOB_FIELDS = ['name', 'data', 'opts', 'timestamp', 'priority', 'atm', 'attemptsMade'] as const;

export type JobField = (typeof JOB_FIELDS)[number];

/** What becomes of taken jobs, as the import counts them. */
export type Outcome = 'published' | 'duplicates' | 'lost';

/** How many jobs a queue has. */
export interface BullCounts {
  readonly delayed: number;
  readonly waiting: number;
  readonly active: number;
  readonly waitingChildren: number;
  /** Jobs that an import has taken and not handed over. */
  readonly open: number;
}

/** A queue of BullMQ, as far as an import works with it. Every step is one script, which only the holder of the lock can run. */
export class BullQueue {
  readonly name: string;
  readonly keys: BullKeys;
  readonly connection: RedisConnection;

  constructor(connection: RedisConnection, prefix: string, name: string) {
    this.connection = connection;
    this.name = name;
    this.keys = bullKeys(prefix, name);
  }

  /** Whether anything was ever added to it. */
  async isKnown(): Promise<boolean> {
    const { meta, id, delayed, wait, repeat, settings } = this.keys;
    const found = await this.#send(async (redis) => redis.exists(meta, id, delayed, wait, repeat, settings));
    return found > 0;
  }

  async counts(): Promise<BullCounts> {
    const { delayed, prioritized, wait, paused, active, waitingChildren, taken, parked } = this.keys;
    return this.#send(async (redis) => {
      const zsets = await Promise.all(
        [delayed, prioritized, waitingChildren, taken, parked].map((k) => redis.zcard(k)),
      );
      const [waits = 0, pausedOnes = 0, running = 0] = await Promise.all(
        [wait, paused, active].map((key) => redis.llen(key)),
      );
      const [later = 0, prior = 0, parents = 0, open = 0, ready = 0] = zsets;
      return {
        delayed: later,
        waiting: waits + pausedOnes + prior,
        active: running,
        waitingChildren: parents,
        open: open + ready,
      };
    });
  }

  /** The next jobs of a list, none of which is changed. */
  async look(list: BullList, place: Place): Promise<MetJob[]> {
    return this.#page(list, place, '', MOST_JOBS);
  }

  /** Takes the next jobs of a list out of it, those that can be taken. */
  async take(list: BullList, place: Place, token: string, count: number): Promise<MetJob[]> {
    return this.#page(list, place, token, count);
  }

  /** Jobs that were taken, as they are stored; those that somebody has deleted are left out. */
  async read(jobs: readonly TakenJob[]): Promise<StoredJob[]> {
    const rows = await this.#send(async (redis) =>
      Promise.all(jobs.map(async ({ id }) => redis.hmget(this.keys.jobBase + id, ...JOB_FIELDS))),
    );
    return jobs.flatMap((job, i) => {
      const row = rows[i] ?? [];
      const entries = JOB_FIELDS.map((field, place) => [field, row[place] ?? null] as const);
      const fields = Object.fromEntries(entries) as Record<JobField, string | null>;
      return fields.name === null ? [] : [{ ...job, fields }];
    });
  }

  /** The first jobs of those that were taken, or of those whose message waits to be released. */
  async open(which: 'taken' | 'parked', count: number): Promise<TakenJob[]> {
    const row = await this.#send(async (redis) => redis.zrange(this.keys[which], '0', String(count - 1), 'WITHSCORES'));
    return row.flatMap((id, i) => (i % 2 === 0 ? [{ id, score: row[i + 1] ?? '0' }] : []));
  }

  async park(token: string, ids: readonly string[]): Promise<void> {
    await this.#run('park', { token }, ids);
  }

  /** Keeps the lock for another {@link LOCK_TIME}. */
  async renew(token: string): Promise<void> {
    await this.#run('park', { token });
  }

  async finish(token: string, outcome: Outcome, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#run('finish', { token, outcome }, ids);
  }

  async giveBack(token: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const { paused, wait } = this.keys;
    const isPaused = (await this.#send(async (redis) => redis.exists(paused))) > 0;
    await this.#run('giveBack', { token, wait: isPaused ? paused : wait }, ids);
  }

  /** @returns whether nobody else imports */
  async lock(token: string): Promise<boolean> {
    const reply = await this.#send(async (redis) => redis.set(this.keys.lock, token, 'PX', LOCK_TIME, 'NX'));
    return reply === 'OK';
  }

  /** Lets jobs be taken again that a run before this one has given back; it may have been killed before it could. */
  async forgetRefused(): Promise<void> {
    await this.#send(async (redis) => redis.del(this.keys.refused));
  }

  /** @returns how many jobs are still between the two queues */
  async leave(token: string): Promise<number> {
    return Number(await this.#run('leave', { token }));
  }

  async settings(): Promise<Record<string, string>> {
    return this.#send(async (redis) => redis.hgetall(this.keys.settings));
  }

  async putSettings(settings: Readonly<Record<string, string>>): Promise<void> {
    await this.#send(async (redis) => redis.hset(this.keys.settings, settings));
  }

  async #page(list: BullList, place: Place, token: string, count: number): Promise<MetJob[]> {
    const kind = list === 'paused' ? 'wait' : list;
    const given = { waiting: this.keys[list], token, list: kind, count, largest: MAX_PAYLOAD_BYTES, ...place };
    const row = (await this.#run('take', given)) as string[];
    return row.flatMap((id, i) =>
      i % 3 === 0 ? [{ id, score: row[i + 1] ?? '0', verdict: row[i + 2] as Verdict }] : [],
    );
  }

  async #run(
    name: keyof typeof SCRIPTS,
    given: Readonly<Record<string, string | number>>,
    rest?: readonly string[],
  ): Promise<unknown> {
    return SCRIPTS[name].run(this.connection, this.keys, given, rest);
  }

  async #send<T>(command: Parameters<typeof RedisConnection.prototype.send<T>>[0]): Promise<T> {
    return this.connection.send(command, this.keys.base);
  }
}

/** Where to go on behind jobs of a sorted set: those that were not taken are still there. */
export function behind(place: Place, met: readonly MetJob[], isLook: boolean): Place {
  const last = met.at(-1);
  if (!last) return place;
  const stay = met.filter(({ score, verdict }) => score === last.score && (isLook || verdict !== 'taken')).length;
  return { from: last.score, offset: stay + (last.score === place.from ? place.offset : 0) };
}

/** Where to go on in a list of jobs that wait, which has no scores. */
export function behindWaiting({ from, offset }: Place, met: readonly MetJob[], isLook: boolean): Place {
  return { from, offset: offset + met.filter(({ verdict }) => isLook || verdict !== 'taken').length };
}

/** When a job was to run, epoch milliseconds; 0 for one that is not delayed. */
export function dueTimeOf({ score }: TakenJob): number {
  return Math.max(0, Math.floor(Number(score) / SCORES_PER_MS));
}
