import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { DelayQueueError } from '../errors/delay-queue.error.js';
import type { EventSink } from '../events/queue-events.interface.js';
import { type Log, quoted } from '../log.js';
import type { Clock } from '../time/clock.js';
import { Loop } from '../time/loop.js';
import type { GivenSchedule } from './check-schedule.js';
import type { DelayQueueSchedules } from './delay-queue.schedules.js';

/** Pause before the next try to store a schedule, in milliseconds. */
const PAUSE_AFTER_FAILURE = 1000;

/** A schedule that a handler declares. */
export interface DeclaredSchedule {
  /** Name for messages, such as `@RecurringHandler on Reports.send`. */
  readonly where: string;
  readonly schedule: GivenSchedule;
}

export interface DeclaredSchedulesOptions {
  readonly schedules: Pick<DelayQueueSchedules, 'declare'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
}

/** Stores the schedules that the handlers of this process declare: at boot, and again if Redis has lost data. */
export class DeclaredSchedules {
  readonly #options: DeclaredSchedulesOptions;
  readonly #retries: Loop;
  #all: readonly DeclaredSchedule[] = [];
  /** Schedules that are still to be stored. */
  #pending = new Set<DeclaredSchedule>();
  /** Schedules that are stored only if they are missing. */
  readonly #missing = new Set<DeclaredSchedule>();

  constructor(options: DeclaredSchedulesOptions) {
    this.#options = options;
    this.#retries = new Loop({ clock: options.clock, run: () => this.#storePending() });
  }

  /**
   * Resolves once all are stored; one whose part of Redis cannot be reached now is stored later.
   *
   * @throws ConfigurationError that names class and method of a schedule that cannot be stored
   * @throws BrokerUnavailableError if Redis refuses for good
   */
  async start(declared: readonly DeclaredSchedule[]): Promise<void> {
    this.#all = declared;
    await Promise.all(
      declared.map(async (one) => {
        try {
          await this.#options.schedules.declare(one.schedule);
        } catch (error) {
          if (!(error instanceof BrokerUnavailableError)) throw asConfigurationError(one, error);
          if (!error.transient) throw error;
          this.#options.log.warn(
            `Schedule ${quoted(one.schedule.id)} is stored once Redis can be reached: ${error.message}`,
          );
          this.#pending.add(one);
        }
      }),
    );
    if (this.#pending.size > 0) this.#retries.later(PAUSE_AFTER_FAILURE);
  }

  /**
   * Stores missing schedules; call this when Redis has lost data. Existing ones stay as they are: another version may have changed them.
   */
  restore(): void {
    for (const one of this.#all) this.#missing.add(one);
    this.#pending = new Set(this.#all);
    if (this.#pending.size > 0) this.#retries.poke();
  }

  async stop(): Promise<void> {
    this.#pending.clear();
    await this.#retries.stop();
  }

  /**
   * Never rejects.
   *
   * @returns time until the next try, in milliseconds
   */
  async #storePending(): Promise<number | undefined> {
    const { schedules, events, log } = this.#options;
    for (const one of this.#pending) {
      try {
        await schedules.declare(one.schedule, { onlyIfMissing: this.#missing.has(one) });
        this.#pending.delete(one);
      } catch (error) {
        const { topic, id } = one.schedule;
        events.emit('errors', { source: 'schedule', topic: typeof topic === 'string' ? topic : topic.name, error });
        if (error instanceof BrokerUnavailableError && error.transient) continue;
        this.#pending.delete(one);
        log.error(`Schedule ${quoted(id)} cannot be stored: ${(error as Error).message}`, (error as Error).stack);
      }
    }
    return this.#pending.size > 0 ? PAUSE_AFTER_FAILURE : undefined;
  }
}

function asConfigurationError({ where }: DeclaredSchedule, error: unknown): unknown {
  if (!(error instanceof DelayQueueError)) return error;
  return new ConfigurationError(`${where}: ${error.message}`, { cause: error });
}
