import { randomUUID } from 'node:crypto';
import type { Broker } from '../../store/broker.interface.js';
import { ChangeLane } from '../../store/calls/change-lane.js';
import type { Owner } from '../../store/fleet/owner.js';
import type { TopicOrder } from '../../store/fleet/topic-config.js';
import type { CallId, Partition } from '../../store/partition.js';
import { type DueSchedules, MAX_DUE_SCHEDULES } from '../../store/schedules/due-schedules.js';
import type { StoredSchedule } from '../../store/schedules/schedule-records.js';
import { repeatUntilServed, serveWithin } from '../../store/calls/serve.js';
import { isRefused } from '../../store/calls/split-refused.js';
import { tagsOf } from '../../messages/envelope.js';
import { toStoredId } from '../../messages/stored-id.js';
import { type Step, nextStep } from '../../schedules/catch-up.js';
import {
  encodeState,
  occurrenceId,
  readSchedule,
  type ScheduleRecord,
  seriesOf,
} from '../../schedules/schedule-record.js';
import { AHEAD } from '../../schedules/starting-state.js';
import { Loop } from '../../time/loop.js';
import type { Startable } from '../../time/startable.interface.js';
import { Turns } from '../../time/turns.js';
import type { ConsumerContext } from '../consumer-context.js';
import { DueTimer } from '../../time/due-timer.js';
import { ScheduleReporter } from './schedule-reporter.js';

/** Pause after a failed look, in milliseconds. */
const PAUSE_AFTER_FAILURE = 1000;

/** Longest interval between looks if there is any schedule, in milliseconds: another program may have removed its next time. */
const LOOK_AGAIN = 300_000;

/** Time for which a publish is repeated before the next look at what is due, in milliseconds: by then it may count as missed. */
const PATIENCE = 2000;

/** Most occurrences of one schedule that are published before others get their turn. */
const MOST_IN_A_ROW = 100;

/** Time limit for a removal, in milliseconds; the next look tries again. */
const REMOVAL_TIMEOUT = 5000;

/** Number of schedules that are served at once. */
const AT_ONCE = 16;

/** Shared by all partitions of the process: each may have many schedules when an outage ends. */
const TURNS = new Turns();

/** A caller that makes one call after the other. */
interface Caller {
  readonly name: string;
  sequence: number;
}

/** Result of serving a listed schedule. */
interface Look {
  /** Time of the next look at it, in epoch milliseconds. */
  readonly at: number | undefined;
  /** Whether another look would not list it now. */
  readonly isDone: boolean;
}

export interface ScheduleRunnerOptions {
  readonly context: ConsumerContext;
  readonly partition: Partition;
  readonly order: TopicOrder | undefined;
  /** Identity under which this process owns the partition. */
  readonly owner: Owner;
  /** Called with the stored owner if this process no longer owns the partition. */
  readonly onLost: (owner: Owner | undefined) => void;
}

/**
 * Publishes the occurrences of the schedules of an owned partition, each as a message that is due at its time. It looks shortly before the
 * earliest is due, at each signal of a change, and every five minutes; in between, a schedule costs nothing.
 */
export class ScheduleRunner implements Startable {
  readonly #options: ScheduleRunnerOptions;
  readonly #reporter: ScheduleReporter;
  readonly #listed: ListedSchedules;
  readonly #timer: DueTimer;
  readonly #looks: Loop;
  readonly #stop = new AbortController();
  readonly #callers: readonly Caller[] = Array.from({ length: AT_ONCE }, () => ({ name: randomUUID(), sequence: 0 }));
  /** Last seen content of the schedules that this process cannot serve, by their ids. */
  readonly #aside = new Map<string, string>();
  /** Whether the latest answered look found any schedule. */
  #hasSome = false;

  constructor(options: ScheduleRunnerOptions) {
    this.#options = options;
    const { context, partition } = options;
    const { broker, clock } = context;
    this.#reporter = new ScheduleReporter(context, partition);
    this.#listed = new ListedSchedules(context, partition);
    const brokerClock = { now: () => broker.now(partition), onStep: broker.onClockStep.bind(broker) };
    this.#timer = new DueTimer(clock, brokerClock, () => this.#looks.poke());
    this.#looks = new Loop({ clock, run: () => this.#look() });
  }

  /** Looks at once: the previous owner may have left occurrences to publish. */
  start(): void {
    if (!this.#looks.started) void this.#looks.start();
  }

  /** @param at new time of a schedule's next occurrence, in epoch milliseconds on the broker's clock */
  changed(at: number): void {
    this.#wake(at - AHEAD);
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
    const { broker } = context;
    const { signal } = this.#stop;
    this.#timer.disarm();
    try {
      let earliest = Infinity;
      for (let skip = 0; !signal.aborted;) {
        const page = await this.#list(skip);
        const looks = await this.#serveAll(page.due, page.now);
        if (page.count > 0) earliest = Math.min(earliest, page.now + LOOK_AGAIN);
        if (page.nextAt !== undefined) earliest = Math.min(earliest, page.nextAt - AHEAD);
        for (const { at = Infinity } of looks) earliest = Math.min(earliest, at);
        if (page.due.length < MAX_DUE_SCHEDULES) break;
        // Schedules that stay where they are would be listed again.
        skip += looks.filter(({ isDone }) => !isDone).length;
      }
      this.#reporter.served();
      if (earliest !== Infinity) this.#wake(earliest);
    } catch (error) {
      if (signal.aborted) return;
      this.#tellFailure(error);
      this.#wake(broker.now(partition) + PAUSE_AFTER_FAILURE);
    }
  }

  async #list(skip: number): Promise<DueSchedules> {
    const { context, partition } = this.#options;
    const page = await repeatUntilServed(
      () => context.broker.schedules.dueSchedules(partition, { ahead: AHEAD, skip }),
      {
        clock: context.clock,
        signal: this.#stop.signal,
        onFailure: (error) => this.#tellFailure(error),
      },
    );
    this.#hasSome = page.count > 0;
    this.#reporter.damage(page.repaired, page.damaged);
    return page;
  }

  /** Serves several schedules at once, so that those of one second do not wait for each other's answers. */
  async #serveAll(due: readonly StoredSchedule[], now: number): Promise<Look[]> {
    const looks: Look[] = [];
    const waiting = due.values();
    const served = this.#callers.map(async (caller) => {
      for (const stored of waiting) {
        if (this.#stop.signal.aborted) return;
        looks.push(await this.#serve(stored, now, caller));
      }
    });
    const failed = (await Promise.allSettled(served)).find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
    return looks;
  }

  /**
   * Publishes the due occurrences of one schedule. Sets a schedule aside that this process cannot read or publish, so that it holds up no
   * other.
   */
  async #serve(stored: StoredSchedule, now: number, caller: Caller): Promise<Look> {
    let seen = stored;
    try {
      for (let count = 0; count < MOST_IN_A_ROW; count++) {
        const schedule = readSchedule(seen);
        const { next } = schedule.state;
        // Only at the time of this occurrence is it known whether an earlier one is over.
        const ahead = schedule.overlap === 'skip' ? 0 : AHEAD;
        if (next === undefined || next > now + ahead) {
          this.#aside.delete(stored.id);
          return { at: next === undefined ? next : next - ahead, isDone: next === undefined || next > now + AHEAD };
        }
        const step = await TURNS.take(() => nextStep(schedule, next, now));
        const state = await this.#take(schedule, step, caller);
        // If another process has changed it, the next look finds out how.
        if (state === undefined) return { at: now, isDone: true };
        seen = { ...stored, state };
      }
      return { at: now, isDone: true };
    } catch (error) {
      if (!isRefused(error)) throw error;
      this.#setAside(seen, error as Error);
      return { at: undefined, isDone: false };
    }
  }

  /** @returns the new state; `undefined` if the schedule has changed meanwhile, or the partition is lost */
  async #take(schedule: ScheduleRecord, { publish, next, missed }: Step, caller: Caller): Promise<string | undefined> {
    const { partition, order, owner, onLost, context } = this.#options;
    const { id, key, overlap, stored, state } = schedule;
    const call = { caller: caller.name, sequence: ++caller.sequence };
    const after = { ...state, next, missed: state.missed + (missed?.count ?? 0) };
    if (publish === undefined) {
      const moved = encodeState(after);
      if (!(await this.#put(stored, moved, next, call))) return undefined;
      this.#reporter.missed(id, 'outage', missed);
      return moved;
    }
    const published = encodeState({ ...after, last: publish });
    const skipped = encodeState({ ...after, missed: after.missed + 1 });
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
    const result = await this.#within(() => context.broker.schedules.publishOccurrence(partition, call, occurrence));
    if (result.status === 'not-owner') {
      // Do not ask again, whatever follows from that.
      this.#stop.abort();
      onLost(result.owner);
      return undefined;
    }
    if (result.status === 'changed') return undefined;
    void this.#verify(id, key);
    this.#reporter.missed(id, 'outage', missed);
    if (result.status === 'published') {
      this.#reporter.published(id, publish, result.duplicate);
      return published;
    }
    this.#reporter.missed(id, 'overlap', { first: publish, last: publish, count: 1 });
    return skipped;
  }

  /**
   * Skips a schedule that cannot be served. It stays unchanged: another process, such as one of a later version, may be able to serve it.
   * It is tried again at each look.
   */
  #setAside({ id, state, definition }: StoredSchedule, error: Error): void {
    const seen = `${state}\n${definition}`;
    if (this.#aside.get(id) === seen) return;
    this.#aside.set(id, seen);
    this.#reporter.setAside(id, error);
  }

  async #verify(id: string, key: string): Promise<void> {
    const other = await this.#listed.check(id, key);
    if (other !== undefined) this.#reporter.removed(id, other);
  }

  #wake(at: number): void {
    if (!this.#stop.signal.aborted) this.#timer.arm(at);
  }

  #put(
    { id, state: expected }: StoredSchedule,
    state: string,
    nextAt: number | undefined,
    call: CallId,
  ): Promise<boolean> {
    const { context, partition } = this.#options;
    return this.#within(() => context.broker.schedules.putSchedule(partition, call, { id, expected, state, nextAt }));
  }

  /** Reports a failure, unless no schedule is known to wait: then other failures reveal the outage. */
  #tellFailure(error: unknown): void {
    if (this.#hasSome || isRefused(error)) this.#reporter.failed(error);
  }

  #within<T>(operation: () => Promise<T>): Promise<T> {
    return serveWithin(this.#options.context.clock, PATIENCE, operation);
  }
}

/**
 * Ensures that the list of all schedules contains those that a partition publishes. A schedule missing from the list is shown nowhere and
 * cannot be removed: its process died between two writes, or Redis has lost the list.
 */
export class ListedSchedules {
  readonly #broker: Broker;
  readonly #partition: Partition;
  readonly #removals: ChangeLane;
  /** Ids of the schedules that were checked. */
  readonly #known = new Set<string>();

  constructor({ broker, clock }: Pick<ConsumerContext, 'broker' | 'clock'>, partition: Partition) {
    this.#broker = broker;
    this.#partition = partition;
    this.#removals = new ChangeLane({ clock, caller: randomUUID(), partition, timeout: REMOVAL_TIMEOUT });
  }

  /**
   * Checks each schedule once. Never rejects.
   *
   * @param key the one of its messages
   * @returns the topic under which the list has it, if that is not this partition's: the schedule was removed here
   */
  async check(id: string, key: string): Promise<string | undefined> {
    if (this.#known.has(id)) return undefined;
    this.#known.add(id);
    try {
      return await this.#look(id, key);
    } catch {
      // Try again next time.
      this.#known.delete(id);
      return undefined;
    }
  }

  async #look(id: string, key: string): Promise<string | undefined> {
    const { topic } = this.#partition;
    const place = await this.#broker.schedules.findSchedule({ id });
    if (place?.topic === topic && place.key === key) return undefined;
    const [stored] = await this.#broker.schedules.getSchedules(this.#partition, [id]);
    if (!stored) return undefined;
    if (!place) {
      await this.#broker.schedules.indexSchedule({ id, topic, key });
      return undefined;
    }
    await this.#removals.send((partition, call) => this.#broker.schedules.removeSchedule(partition, call, id));
    return place.topic;
  }
}
