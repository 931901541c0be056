import type { RetentionLimits } from '../../store/dead-letters/retention.js';
import type { Partition } from '../../store/partition.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { Loop } from '../../time/loop.js';
import type { Startable } from '../../time/startable.interface.js';
import type { TopicSettings } from '../../fleet/topic-settings.interface.js';
import type { ConsumerContext } from '../consumer-context.js';

/** Pause before a failed step is repeated, in milliseconds. */
const PAUSE_AFTER_FAILURE = 5000;

/** Longest interval between looks into a partition that keeps nothing now, unless its `maxAge` is longer; in milliseconds. */
const MAX_PAUSE = 60 * 60_000;

/** Shortest interval between removals of finished messages that are too old, in milliseconds; their ids are free before. */
const FINISHED_PAUSE = 1000;

/** Records that a partition keeps within limits. */
export interface Retention {
  /** Name for the log, such as `dead letters`. */
  readonly what: string;
  readonly limits: RetentionLimits;
  /** Shortest pause before the next removal, in milliseconds: records that expire one after another are removed together. */
  readonly leastPause: number;
  /**
   * Removes some of the excess. Resolves with the time of the next removal (epoch milliseconds; 0: at once), `undefined` if nothing is left
   * that will expire.
   */
  readonly trim: () => Promise<number | undefined>;
}

/**
 * Trims the records of a partition to their limits of age and number, a bounded step at a time. The owner looks again after `maxAge`, and
 * then at intervals that double, since other processes leave records too, such as one that shuts down while its partition is owned here
 * already.
 */
export class RetentionTrimmer implements Startable {
  readonly #context: ConsumerContext;
  readonly #partition: Partition;
  readonly #retention: Retention;
  readonly #loop: Loop;
  #isOwner = false;
  /** Pause before the next look if nothing will expire, in milliseconds. */
  #pause = 0;

  constructor(context: ConsumerContext, partition: Partition, retention: Retention) {
    this.#context = context;
    this.#partition = partition;
    this.#retention = retention;
    this.#loop = new Loop({ clock: context.clock, run: () => this.#trimOnce() });
  }

  /** Starts trimming: this process owns the partition from now on. */
  async start(): Promise<void> {
    if (!this.#isLimited || this.#isOwner) return;
    this.#isOwner = true;
    this.#pause = this.#retention.limits.maxAge ?? 0;
    await this.#loop.request();
  }

  /** Ends the regular looks: another process owns the partition from now on, or none. */
  disowned(): void {
    this.#isOwner = false;
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Looks now; call this when there is more, and perhaps too much. */
  trim(): void {
    if (this.#isLimited) this.#loop.poke();
  }

  /** Looks when the newest record will be too old; call this if only age can make it too much. */
  expectMore(): void {
    const { maxAge } = this.#retention.limits;
    if (maxAge !== undefined) this.#loop.later(maxAge);
  }

  get #isLimited(): boolean {
    const { maxAge, maxCount } = this.#retention.limits;
    return maxAge !== undefined || maxCount !== undefined;
  }

  /** @returns time until the next look, in milliseconds, if there is one */
  async #trimOnce(): Promise<number | undefined> {
    const { broker, log, events } = this.#context;
    const { topic, index: partition } = this.#partition;
    const { what, leastPause, trim } = this.#retention;
    try {
      const nextAt = await trim();
      if (nextAt === undefined) return this.#nextLook();
      return nextAt === 0 ? 0 : Math.max(Math.ceil(nextAt - broker.now(this.#partition)), leastPause);
    } catch (error) {
      events.emit('errors', { source: 'trim', topic, partition, error });
      if (!(error instanceof BrokerUnavailableError)) log.error(`Trimming ${what} failed`, (error as Error).stack);
      // Perhaps nothing else would lead to another look.
      return PAUSE_AFTER_FAILURE;
    }
  }

  #nextLook(): number | undefined {
    const { maxAge } = this.#retention.limits;
    if (!this.#isOwner || maxAge === undefined) return undefined;
    const pause = this.#pause;
    this.#pause = Math.min(2 * pause, Math.max(maxAge, MAX_PAUSE));
    return pause;
  }
}

/** The settings of a received topic can change at any time. */
interface RetainingTopic {
  readonly settings: Pick<TopicSettings, 'deadLetter' | 'finished'>;
}

export function trimmerOfDeadLetters(
  context: ConsumerContext,
  partition: Partition,
  handled: RetainingTopic,
): RetentionTrimmer {
  return new RetentionTrimmer(context, partition, {
    what: 'dead letters',
    leastPause: 0,
    get limits() {
      return handled.settings.deadLetter;
    },
    trim: () => context.broker.deadLetters.trimDead(partition, handled.settings.deadLetter),
  });
}

/** Messages that an earlier owner has kept are removed if this one keeps none. */
export function trimmerOfFinished(
  context: ConsumerContext,
  partition: Partition,
  handled: RetainingTopic,
): RetentionTrimmer {
  return new RetentionTrimmer(context, partition, {
    what: 'finished messages',
    leastPause: FINISHED_PAUSE,
    get limits() {
      return handled.settings.finished ?? { maxCount: 0 };
    },
    trim: () => context.broker.deadLetters.trimFinished(partition),
  });
}
