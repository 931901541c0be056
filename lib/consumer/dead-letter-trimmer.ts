import type { DeadLetterLimits, Partition } from '../broker/broker.interface.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { Loop } from '../time/loop.js';
import type { Startable } from '../time/startable.interface.js';
import type { ConsumerContext } from './consumer-context.js';

/** How long a failed step waits for its repeat, in milliseconds. */
const PAUSE_AFTER_FAILURE = 5000;

/** Keeps the dead letters of an owned partition within their limits of age and number, a bounded step at a time. */
export class DeadLetterTrimmer implements Startable {
  readonly #context: ConsumerContext;
  readonly #partition: Partition;
  readonly #limits: DeadLetterLimits;
  readonly #loop: Loop;

  constructor(context: ConsumerContext, partition: Partition, limits: DeadLetterLimits) {
    this.#context = context;
    this.#partition = partition;
    this.#limits = limits;
    this.#loop = new Loop({ clock: context.clock, run: () => this.#trimOnce() });
  }

  async start(): Promise<void> {
    if (this.#isLimited) await this.#loop.start();
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
      return nextAt === undefined ? undefined : Math.ceil(nextAt - broker.now());
    } catch (error) {
      events.emit('errors', { source: 'trim', topic, partition, error });
      if (!(error instanceof BrokerUnavailableError)) log.error('Trimming dead letters failed', (error as Error).stack);
      // There may be no further death that would lead to another look.
      return PAUSE_AFTER_FAILURE;
    }
  }
}
