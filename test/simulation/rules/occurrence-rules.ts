import { RECURRING } from '../fleet/topics.js';
import { type Recurrence, occurrencesOf, occursAt } from '../work/recurrences.js';
import type { Calm } from './calm.js';
import { type Caller, type Change, Known } from './known.js';
import type { Begun, MessageRules } from './message-rules.js';
import type { RuleOptions } from './run.js';

/** How long before its time an occurrence is published, and how late at most while all is well, in milliseconds. */
const AHEAD = 2000;
const LATENESS = 3000;

/** From so long after all is well, in milliseconds, everything is caught up. */
const CAUGHT_UP = 5000;

/** What a schedule does. `undefined`: nothing, since it is paused or there is none. */
export type Recurring = { readonly recurrence: Recurrence | undefined };

export interface OccurrenceRuleOptions extends RuleOptions {
  readonly messages: MessageRules;
  readonly calm: Calm;
}

/** A time for which a schedule is known to occur. */
interface Interval {
  readonly recurrence: Recurrence;
  /** World time. */
  readonly openedAt: number;
  /** From when on the occurrences are for sure by this rule, and the latest one that has begun. By the clock of Redis. */
  readonly from: number;
  latest: number;
}

interface Tracked {
  readonly id: string;
  readonly catchesUp: boolean;
  readonly skips: boolean;
  readonly state: Known<Recurring>;
  /** What it occurs by unless it is paused. */
  readonly rule: Known<Recurrence>;
  interval: Interval | undefined;
  /** By the clock of Redis: when it was known to be paused or removed. */
  idleFrom: number;
  /** Occurrences that have to be handled, and when it was known. World time. */
  readonly expected: Map<string, number>;
  /** Occurrences that have begun, and are not known to be done. */
  readonly begun: Set<string>;
}

/** Each occurrence of a schedule is handled once, and none that is not one. */
export class OccurrenceRules {
  /** Whether a schedule may be stored. */
  areExpected = false;
  readonly #options: OccurrenceRuleOptions;
  readonly #schedules = new Map<string, Tracked>();

  constructor(options: OccurrenceRuleOptions) {
    this.#options = options;
  }

  /** Whether all has been well for so long that everything is caught up. */
  get isCaughtUp(): boolean {
    return this.#options.world.now > this.#options.calm.from + CAUGHT_UP;
  }

  /** A schedule that nobody has stored yet. */
  add(id: string, { catchesUp, skips }: { readonly catchesUp: boolean; readonly skips: boolean }): void {
    if (this.#schedules.has(id)) return;
    const { world } = this.#options;
    const state = new Known<Recurring>(world, { recurrence: undefined });
    const rule = new Known<Recurrence>(world);
    const rest = { interval: undefined, idleFrom: Infinity, expected: new Map(), begun: new Set<string>() };
    this.#schedules.set(id, { id, catchesUp, skips, state, rule, ...rest });
  }

  /** Somebody is about to change it. */
  asked(id: string, by: Caller): Change {
    this.areExpected = true;
    const schedule = this.#scheduleOf(id);
    this.#close(schedule);
    return schedule.state.asked(by);
  }

  confirmed(id: string, change: Change, recurring: Recurring): void {
    const { world, server } = this.#options;
    const schedule = this.#scheduleOf(id);
    const { state, rule } = schedule;
    state.confirmed(change, recurring);
    schedule.interval = undefined;
    if (!state.value) return;
    const { recurrence } = recurring;
    // What its rule has published ahead is taken back; what an earlier one has published stays.
    const isSettled = rule.value && rule.since + AHEAD < change.askedAt;
    schedule.idleFrom = recurrence ? Infinity : server.now() + (isSettled ? 0 : AHEAD);
    // What was published ahead is by the rule that it had then, and none comes twice.
    const from = server.now() + AHEAD + LATENESS;
    if (recurrence) schedule.interval = { recurrence, openedAt: world.now, from, latest: -Infinity };
  }

  /** It occurs again, by a rule that nobody knows for sure. */
  resumed(id: string, change: Change): void {
    const { state } = this.#scheduleOf(id);
    state.without(change);
    state.forget();
  }

  failed(id: string, change: Change): void {
    this.#scheduleOf(id).state.failed(change);
  }

  /** Somebody was told that there is no such schedule. */
  notFound(id: string, change: Change): void {
    const { state } = this.#scheduleOf(id);
    state.without(change);
    if (!state.value?.recurrence || state.since >= change.askedAt) return;
    this.#options.violated('occurrence', `schedule ${id} is not found, although it is stored`, [id]);
  }

  /** `undefined`: nobody knows. */
  stateOf(id: string): Recurring | undefined {
    return this.#scheduleOf(id).state.value;
  }

  /** Whether somebody is about to change it. */
  isChanging(id: string): boolean {
    return this.#scheduleOf(id).state.isChanging;
  }

  ruleOf(id: string): Known<Recurrence> {
    return this.#scheduleOf(id).rule;
  }

  /** Somebody has asked for a message beside its occurrences. */
  ranNow(id: string, key: string, dueAt: number): void {
    this.#isKnown(id, key, 0);
    this.#options.messages.published(id, dueAt);
  }

  /** A handler is about to begin with one. */
  begin({ key, payload }: Begun): void {
    const { server, violated, messages } = this.#options;
    const { id } = payload as { readonly id: string };
    const [, name = '', text = ''] = /^(.*)@([^/]+Z)$/.exec(id) ?? [];
    const time = Date.parse(text);
    if (!this.#isKnown(id, key, text === '' ? 0 : time) || text === '') return;
    const schedule = this.#scheduleOf(name);
    const { interval, skips, begun } = schedule;
    const wrong = (what: string): void => violated('occurrence', `${id} ${what}`, [id, name]);
    for (const other of begun) if (messages.isOver(other)) begun.delete(other);
    if (skips && begun.size > 0) wrong(`begins although ${[...begun].join()} is not over`);
    begun.add(id);
    const state = schedule.state.value;
    if (state && !state.recurrence && time > schedule.idleFrom) {
      wrong(`begins although it was paused or removed ${Math.round(server.now() - schedule.idleFrom)} ms ago`);
    }
    if (!state || !interval) return;
    if (time >= interval.from && !occursAt(interval.recurrence, time)) wrong('begins, which is none of its rule');
    interval.latest = Math.max(interval.latest, time);
  }

  clockStepped(): void {
    for (const schedule of this.#schedules.values()) {
      schedule.state.doubt();
      schedule.rule.doubt();
      schedule.interval = undefined;
      schedule.begun.clear();
    }
  }

  /** @param since world time */
  redisLost(since: number): void {
    for (const schedule of this.#schedules.values()) {
      const { state, interval, expected, begun } = schedule;
      state.lost(since);
      schedule.rule.lost(since);
      // What was published since then is published again, unless it is paused before.
      if (interval) interval.latest = -Infinity;
      if (!state.value) schedule.interval = undefined;
      for (const [id, at] of expected) if (at >= since) expected.delete(id);
      begun.clear();
    }
  }

  conclude(): void {
    const { messages, violated } = this.#options;
    for (const schedule of this.#schedules.values()) {
      this.#close(schedule);
      const missing = [...schedule.expected.keys()].filter((id) => !messages.find(id) || !messages.isOver(id));
      if (missing.length === 0) continue;
      violated('occurrence', `${missing.length} are missing: ${missing.slice(0, 5).join(', ')}`, [
        schedule.id,
        ...missing.slice(0, 5),
      ]);
    }
  }

  /** Notes which occurrences it has had for sure. */
  #close(schedule: Tracked): void {
    const { world, server, calm } = this.#options;
    const { interval, catchesUp, id, skips } = schedule;
    schedule.interval = undefined;
    if (!interval || !schedule.state.value || skips) return;
    const { recurrence, from, latest, openedAt } = interval;
    const calmFrom = calm.from - world.now + server.now();
    // They are published in order.
    const until = Math.max(catchesUp ? latest : -Infinity, this.isCaughtUp ? server.now() - LATENESS : -Infinity);
    for (const time of occurrencesOf(recurrence, catchesUp ? from : Math.max(from, calmFrom), until)) {
      schedule.expected.set(`${id}@${new Date(time).toISOString()}`, openedAt);
    }
  }

  /** @returns whether it was not until now */
  #isKnown(id: string, key: string, earliest: number): boolean {
    const { messages } = this.#options;
    if (messages.find(id)) return false;
    messages.publishing({ id, key, index: 0, takes: 0, throws: 0, hangs: false, earliest, topic: RECURRING });
    messages.called(id);
    return true;
  }

  #scheduleOf(id: string): Tracked {
    const schedule = this.#schedules.get(id);
    if (!schedule) throw new Error(`Nobody has stored ${id}`);
    return schedule;
  }
}
