import type { DeadLetterLimits, Partition } from '../broker/broker.interface.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { Loop } from '../time/loop.js';
import type { Startable } from '../time/startable.interface.js';
import type { ConsumerContext } from './consumer-context.js';

/** How long a failed step waits for its repeat, in milliseconds. */
const PAUSE_AFTER_FAILURE = 5000;

/** Longest time between two looks into a partition without dead letters, if they may not even live for that long; milliseconds. */
const MAX_PAUSE = 60 * 60_000;

/**
 * Keeps the dead letters of a partition within their limits of age and number, a bounded step at a time. Every process sees to
 * those that it makes itself. The owner also sees to those that others leave behind, such as the process that is being drained
 * while its partition is owned here already: it looks again after `maxAge`, and then at intervals that double.
 */
export class DeadLetterTrimmer implements Startable {
  readonly #context: ConsumerContext;
  readonly #partition: Partition;
  readonly #limits: DeadLetterLimits;
  readonly #loop: Loop;
  #isOwner = false;
  /** When to look again if nothing is there that will expire, in milliseconds. */
  #pause = 0;

  constructor(context: ConsumerContext, partition: Partition, limits: DeadLetterLimits) {
    this.#context = context;
    this.#partition = partition;
    this.#limits = limits;
    this.#loop = new Loop({ clock: context.clock, run: () => this.#trimOnce() });
  }

  /** This process owns the partition from now on. */
  async start(): Promise<void> {
    if (!this.#isLimited || this.#isOwner) return;
    this.#isOwner = true;
    this.#pause = this.#limits.maxAge ?? 0;
    await this.#loop.request();
  }

  /** Another process owns the partition from now on, or none. */
  disowned(): void {
    this.#isOwner = false;
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Looks now; to be called when a message has died. */
  trim(): void {
    if (this.#isLimited) this.#loop.poke();
  }

  get #isLimited(): boolean {
    return this.#limits.maxAge !== undefined || this.#limits.maxCount !== undefined;
  }

  /** @returns in how many milliseconds to look again, if there is anything that will expire */
  async #trimOnce(): Promise<number | undefined> {
    const { broker, log, events } = this.#context;
    const { topic, index: partition } = this.#partition;
    try {
      const nextAt = await broker.trimDead(this.#partition, this.#limits);
      return nextAt === undefined ? this.#nextLook() : Math.ceil(nextAt - broker.now(this.#partition));
    } catch (error) {
      events.emit('errors', { source: 'trim', topic, partition, error });
      if (!(error instanceof BrokerUnavailableError)) log.error('Trimming dead letters failed', (error as Error).stack);
      // There may be no further death that would lead to another look.
      return PAUSE_AFTER_FAILURE;
    }
  }

  #nextLook(): number | undefined {
    const { maxAge } = this.#limits;
    if (!this.#isOwner || maxAge === undefined) return undefined;
    const pause = this.#pause;
    this.#pause = Math.min(2 * pause, Math.max(maxAge, MAX_PAUSE));
    return pause;
  }
}
