import { randomUUID } from 'node:crypto';
import type { Owner, Partition, StoredSchedule, TopicOrder } from '../broker/broker.interface.js';
import { callsOf } from '../broker/call-names.js';
import { repeatUntilServed, serveWithin } from '../broker/serve.js';
import { isRefused } from '../broker/split-refused.js';
import { tagsOf } from '../messages/readable-part.js';
import { toStoredId } from '../messages/stored-id.js';
import { type Step, nextStep } from '../schedules/catch-up.js';
import { occurrenceId, seriesOf } from '../schedules/occurrence-ids.js';
import { type ScheduleRecord, decodeState, encodeState, readSchedule } from '../schedules/schedule-record.js';
import { Loop } from '../time/loop.js';
import type { Startable } from '../time/startable.interface.js';
import type { ConsumerContext } from './consumer-context.js';
import { DueTimer } from './due-timer.js';
import { ScheduleReporter } from './schedule-reporter.js';

/** How long a failed look waits for the next, in milliseconds. */
const PAUSE_AFTER_FAILURE = 1000;

/** Longest time between two looks if there is any schedule, in milliseconds: another program may have removed its next time. */
const LOOK_AGAIN = 300_000;

/** For how long a publish is repeated before it is looked again what is due, in milliseconds: by then it may have been missed. */
const PATIENCE = 2000;

/** Most occurrences of one schedule that are published before others have their turn. */
const MOST_IN_A_ROW = 100;

export interface ScheduleRunnerOptions {
  readonly context: ConsumerContext;
  readonly partition: Partition;
  /** Of the topic. */
  readonly order: TopicOrder | undefined;
  /** As whom this process owns the partition. */
  readonly owner: Owner;
  /** Called if it does not own it any more, with what is stored instead. */
  readonly onLost: (owner: Owner | undefined) => void;
}

/**
 * Publishes the occurrences of the schedules of an owned partition, each at its time. It looks when the earliest is due, and when
 * it is told to, and every five minutes; in between, a schedule costs nothing.
 */
export class ScheduleRunner implements Startable {
  readonly #options: ScheduleRunnerOptions;
  readonly #reporter: ScheduleReporter;
  readonly #timer: DueTimer;
  readonly #looks: Loop;
  readonly #stop = new AbortController();
  readonly #nextCall = callsOf(randomUUID());
  /** Whether the latest look that was answered has found any schedule. */
  #hasSome = false;

  constructor(options: ScheduleRunnerOptions) {
    this.#options = options;
    const { context, partition } = options;
    const { broker, clock } = context;
    this.#reporter = new ScheduleReporter(context, partition);
    const brokerClock = { now: () => broker.now(partition), onStep: broker.onClockStep.bind(broker) };
    this.#timer = new DueTimer(clock, brokerClock, () => this.#looks.poke());
    this.#looks = new Loop({ clock, run: () => this.#look() });
  }

  /** Looks at once: whoever owned the partition before may have left something to be published. */
  start(): void {
    if (!this.#looks.started) void this.#looks.start();
  }

  /** @param at when something may have to be published, epoch milliseconds on the broker's clock */
  wake(at: number): void {
    if (!this.#stop.signal.aborted) this.#timer.arm(at);
  }

  /** Resolves once nothing more is published. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer.disarm();
    await this.#looks.stop();
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { context, partition } = this.#options;
    const { broker, clock } = context;
    const { signal } = this.#stop;
    this.#timer.disarm();
    try {
      const { due, nextAt, now, count, repaired, damaged } = await repeatUntilServed(
        () => broker.dueSchedules(partition),
        {
          clock,
          signal,
          onFailure: (error) => this.#tellFailure(error),
        },
      );
      this.#hasSome = count > 0;
      this.#reporter.damage(repaired, damaged);
      let earliest = Math.min(nextAt ?? Infinity, count > 0 ? now + LOOK_AGAIN : Infinity);
      for (const stored of due) {
        if (signal.aborted) return;
        earliest = Math.min(earliest, (await this.#serve(stored, now)) ?? Infinity);
      }
      this.#reporter.served();
      if (earliest !== Infinity) this.wake(earliest);
    } catch (error) {
      if (signal.aborted) return;
      this.#tellFailure(error);
      this.wake(broker.now(partition) + PAUSE_AFTER_FAILURE);
    }
  }

  /**
   * Publishes what is due of one schedule. What cannot be read or published is set aside, so that it holds up no other schedule.
   *
   * @returns when it is to be looked at next
   */
  async #serve(stored: StoredSchedule, now: number): Promise<number | undefined> {
    let seen = stored;
    try {
      for (let count = 0; count < MOST_IN_A_ROW; count++) {
        const schedule = readSchedule(seen);
        const { next } = schedule.state;
        if (next === undefined || next > now) return next;
        const state = await this.#take(schedule, nextStep(schedule, next, now));
        // If somebody else has changed it, the next look finds out how.
        if (state === undefined) return now;
        seen = { ...stored, state };
      }
      return now;
    } catch (error) {
      if (!isRefused(error)) throw error;
      return this.#setAside(seen, error as Error);
    }
  }

  /** @returns the state after that; `undefined` if it was not as it was seen, or the partition is lost */
  async #take(schedule: ScheduleRecord, { publish, next, missed }: Step): Promise<string | undefined> {
    const { partition, order, owner, onLost, context } = this.#options;
    const { id, key, overlap, stored, state } = schedule;
    const after = { ...state, next, missed: state.missed + (missed?.count ?? 0) };
    if (publish === undefined) {
      const moved = encodeState(after);
      if (!(await this.#put(stored, moved, next))) return undefined;
      this.#reporter.missed(id, 'outage', missed);
      return moved;
    }
    const published = encodeState({ ...after, last: publish });
    const skipped = encodeState({ ...after, missed: after.missed + 1 });
    const call = this.#nextCall();
    const occurrence = {
      id,
      expected: stored.state,
      state: published,
      nextAt: next,
      owner,
      storedId: toStoredId(occurrenceId(id, publish), key),
      dueAt: publish,
      tags: tagsOf(stored.envelope),
      order,
      unlessBusy: overlap === 'skip' ? { state: skipped, series: seriesOf(id, key) } : undefined,
    };
    const result = await this.#within(() => context.broker.publishOccurrence(partition, call, occurrence));
    if (result.status === 'not-owner') {
      // Whatever becomes of that, it is not asked again.
      this.#stop.abort();
      onLost(result.owner);
      return undefined;
    }
    if (result.status === 'changed') return undefined;
    this.#reporter.missed(id, 'outage', missed);
    if (result.status === 'published') {
      this.#reporter.published(id, publish, result.duplicate);
      return published;
    }
    this.#reporter.missed(id, 'overlap', { first: publish, last: publish, count: 1 });
    return skipped;
  }

  /** Takes the next time from a schedule that cannot be served. It is not paused: whoever stores it again starts it. */
  async #setAside(stored: StoredSchedule, error: Error): Promise<number | undefined> {
    const { paused = false, last, missed = 0 } = decodeState(stored.state) ?? {};
    const still = encodeState({ paused, next: undefined, last, missed });
    const { context, partition } = this.#options;
    if (!(await this.#put(stored, still, undefined))) return context.broker.now(partition);
    this.#reporter.setAside(stored.id, error);
    return undefined;
  }

  #put({ id, state: expected }: StoredSchedule, state: string, nextAt: number | undefined): Promise<boolean> {
    const { context, partition } = this.#options;
    return this.#within(() => context.broker.putSchedule(partition, { id, expected, state, nextAt }));
  }

  /** Where no schedule is known to wait, whatever else fails tells of the outage. */
  #tellFailure(error: unknown): void {
    if (this.#hasSome || isRefused(error)) this.#reporter.failed(error);
  }

  #within<T>(operation: () => Promise<T>): Promise<T> {
    return serveWithin(this.#options.context.clock, PATIENCE, operation);
  }
}
