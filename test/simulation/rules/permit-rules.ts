import type { Process } from '../fleet/process.js';
import { CLOCK_ERROR } from './delivery-rules.js';
import type { WatchedCall } from './owner-rules.js';
import { FORGOTTEN } from './limit-rules.js';
import type { RuleOptions, Run } from './run.js';

interface PermitGiven {
  readonly session: string;
  readonly sequence: number;
  readonly wanted: number;
  readonly max_rate: number;
  readonly window: number;
  readonly most_in_flight: number;
  readonly slack: number;
}

/** How long a process may begin what it was permitted. World time. */
interface Permitted {
  readonly from: number;
  readonly until: number;
  left: number;
}

interface Line {
  readonly who: string;
  readonly has: number;
  readonly wants: number;
}

/** A line of a process that waits, or has permits to be in flight: who, which call, how many it has, until when, and how many more it wants. */
const LINE = /^([^\s~=]\S*) (\d+) (\d+) (\d+) (\d+) (\d+)$/gm;

/** For how long what a rate has permitted may matter after Redis has forgotten it, in milliseconds. */
const LONGEST_BEGIN = 10_000;

/** What is permitted is within the limits, is not less than what they allow, and begins in time. */
export class PermitRules {
  readonly #options: RuleOptions;
  readonly #sequences = new Map<string, number>();
  /** How many might be in flight lately, by key: a limit that was narrowed holds once deliveries have ended. Until world time. */
  readonly #widest = new Map<string, { readonly most: number; readonly until: number }>();
  /** By process and topic. */
  readonly #permitted = new Map<Process, Map<string, Permitted[]>>();
  #from = -Infinity;

  constructor(options: RuleOptions) {
    this.#options = options;
  }

  ran(process: Process, { name, place, given }: WatchedCall, reply: unknown): void {
    if (name !== 'permit' || !Array.isArray(reply)) return;
    const { permits: key } = place as { readonly permits: string };
    const { session, sequence, most_in_flight: most, max_rate: max, slack } = given as PermitGiven;
    const before = this.#sequences.get(session + key);
    if (before !== undefined && sequence <= before) return;
    this.#sequences.set(session + key, sequence);
    const stored = (this.#options.server.data.call('GET', key) as string | null) ?? '';
    const lines = [...stored.matchAll(LINE)].map(([, who = '', , has, until, wants]) => {
      return { who, has: Number(until) > this.#options.server.now() ? Number(has) : 0, wants: Number(wants) };
    });
    const widest = this.#widestOf(key, most);
    if (most > 0) this.#assertWithin(process, { key, session, most: widest, lines });
    if (max === 0) return;
    const [permitted, , beginsAt, beginsIn] = reply as number[];
    const areOthersWaiting = lines.some(({ who, wants }) => who !== session && wants > 0);
    if (most === 0 && !areOthersWaiting && this.#options.world.now > this.#from) {
      this.#assertNoneLeft(process, given as PermitGiven, stored, {
        permitted: permitted ?? 0,
        beginsAt: beginsAt ?? 0,
      });
    }
    const from = this.#options.world.now + (beginsIn ?? 0);
    if (permitted)
      this.#note(process, key, { from: from - CLOCK_ERROR, until: from + slack + CLOCK_ERROR, left: permitted });
  }

  /** A handler is called by what a rate of its topic has permitted. */
  begin(process: Process, { topic, id }: Run): void {
    const { world, violated } = this.#options;
    if (world.now < this.#from) return;
    const all = this.#permitted.get(process)?.get(`{dq:${topic}}:permits`) ?? [];
    const usable = all.filter(({ from, until, left }) => from <= world.now && world.now <= until && left > 0);
    const [first] = usable.toSorted((a, b) => a.until - b.until);
    if (first) first.left--;
    else violated('permits', `${id} begins when nothing permits it`, [id, process.name]);
  }

  redisLost(): void {
    this.#from = this.#options.world.now + LONGEST_BEGIN;
    this.#sequences.clear();
  }

  #widestOf(key: string, most: number): number {
    const { now } = this.#options.world;
    const known = this.#widest.get(key);
    if (known && known.most > most && now < known.until) return known.most;
    this.#widest.set(key, { most, until: now + FORGOTTEN });
    return most;
  }

  #assertWithin(
    process: Process,
    { key, session, most, lines }: { key: string; session: string; most: number; lines: readonly Line[] },
  ): void {
    let [own, others] = [0, 0];
    for (const { who, has } of lines) {
      if (who === session) own += has;
      else others += has;
    }
    if (own <= Math.max(0, most - others)) return;
    this.#violated(`${own + others} permits to be in flight are given in ${key}, and ${most} may`, process);
  }

  #assertNoneLeft(
    process: Process,
    { wanted, max_rate: max, window }: PermitGiven,
    stored: string,
    { permitted, beginsAt }: { readonly permitted: number; readonly beginsAt: number },
  ): void {
    if (permitted >= wanted) return;
    const [log = ''] = stored.split('\n');
    let used = 0;
    for (const [, time, count] of log.matchAll(/(\d+) (\d+)/g)) {
      if (Number(time) >= beginsAt - window) used += Number(count);
    }
    if (used >= max) return;
    this.#violated(
      `${process.name} is permitted ${permitted} of ${wanted}, and ${max - used} of the rate are left`,
      process,
    );
  }

  #note(process: Process, key: string, permitted: Permitted): void {
    const topics = this.#permitted.get(process) ?? new Map<string, Permitted[]>();
    this.#permitted.set(process, topics);
    const all = (topics.get(key) ?? []).filter(({ until }) => until >= this.#options.world.now);
    topics.set(key, [...all, permitted]);
  }

  #violated(text: string, process: Process): void {
    this.#options.violated('permits', text, [process.name]);
  }
}
