import type { RetentionLimits } from '../../store/dead-letters/retention.js';
import type { Partition } from '../../store/partition.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { Loop } from '../../time/loop.js';
import type { Startable } from '../../time/startable.interface.js';
import type { TopicSettings } from '../../fleet/topic-settings.interface.js';
import type { ConsumerContext } from '../consumer-context.js';

/** How long a failed step waits for its repeat, in milliseconds. */
const PAUSE_AFTER_FAILURE = 5000;

/** Longest time between two looks into a partition that keeps nothing now, if it does not even keep it for that long; milliseconds. */
const MAX_PAUSE = 60 * 60_000;

/** How often finished messages that are too old are removed at most, in milliseconds; their ids are free before. */
const FINISHED_PAUSE = 1000;

/** What a partition keeps within limits. */
export interface Retention {
  /** For the log, such as `dead letters`. */
  readonly what: string;
  readonly limits: RetentionLimits;
  /** Shortest time until what expires next is removed, in milliseconds: many that expire one after another are removed together. */
  readonly leastPause: number;
  /**
   * Removes some of what is over the limits. Answers when to come again (epoch milliseconds; 0: at once), `undefined` if nothing is left that
   * will expire.
   */
  readonly trim: () => Promise<number | undefined>;
}

/**
 * Keeps what a partition has kept within its limits of age and number, a bounded step at a time. The owner looks again after `maxAge`, and
 * then at intervals that double, since other processes leave something behind, too, such as one that shuts down while its partition
 * is owned here already.
 */
export class RetentionTrimmer implements Startable {
  readonly #context: ConsumerContext;
  readonly #partition: Partition;
  readonly #retention: Retention;
  readonly #loop: Loop;
  #isOwner = false;
  /** When to look again if nothing is there that will expire, in milliseconds. */
  #pause = 0;

  constructor(context: ConsumerContext, partition: Partition, retention: Retention) {
    this.#context = context;
    this.#partition = partition;
    this.#retention = retention;
    this.#loop = new Loop({ clock: context.clock, run: () => this.#trimOnce() });
  }

  /** This process owns the partition from now on. */
  async start(): Promise<void> {
    if (!this.#isLimited || this.#isOwner) return;
    this.#isOwner = true;
    this.#pause = this.#retention.limits.maxAge ?? 0;
    await this.#loop.request();
  }

  /** Another process owns the partition from now on, or none. */
  disowned(): void {
    this.#isOwner = false;
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Looks now; to be called when there is more, and perhaps too much. */
  trim(): void {
    if (this.#isLimited) this.#loop.poke();
  }

  /** Looks once what has come now will be too old; to be called if there can be too much only by its age. */
  expectMore(): void {
    const { maxAge } = this.#retention.limits;
    if (maxAge !== undefined) this.#loop.later(maxAge);
  }

  get #isLimited(): boolean {
    const { maxAge, maxCount } = this.#retention.limits;
    return maxAge !== undefined || maxCount !== undefined;
  }

  /** @returns in how many milliseconds to look again, if there is anything that will expire */
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
      // There may be nothing further that would lead to another look.
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

/** Of a topic that is received, other settings may hold at any time. */
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

/** What an earlier owner has kept is removed, if this one keeps nothing. */
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
