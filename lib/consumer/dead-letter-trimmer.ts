import type { Partition } from '../broker/broker.interface.js';
import type { Startable } from '../common/startable.interface.js';
import { BrokerUnavailableError } from '../errors/broker-unavailable.error.js';
import type { ConsumerContext } from './consumer-context.js';
import { DueTimer } from './due-timer.js';

/** Keeps the dead letters of an owned partition within their limits of age and number, a bounded step at a time. */
export class DeadLetterTrimmer implements Startable {
  readonly #context: ConsumerContext;
  readonly #partition: Partition;
  readonly #limits: { readonly maxAge: number | undefined; readonly maxCount: number | undefined };
  readonly #timer: DueTimer;
  #trimming: Promise<void> | undefined;
  #stopped = false;

  /** @param limits `maxAge` in milliseconds */
  constructor(
    context: ConsumerContext,
    partition: Partition,
    limits: { readonly maxAge: number | undefined; readonly maxCount: number | undefined },
  ) {
    this.#context = context;
    this.#partition = partition;
    this.#limits = limits;
    this.#timer = new DueTimer(
      context.clock,
      () => context.broker.now(),
      () => this.trim(),
    );
  }

  start(): void {
    this.trim();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer.disarm();
    await this.#trimming;
  }

  /** Looks now; to be called when a message has died. */
  trim(): void {
    const { maxAge, maxCount } = this.#limits;
    if (this.#stopped || (maxAge === undefined && maxCount === undefined)) return;
    this.#trimming ??= this.#trimOnce();
  }

  /** Never rejects. */
  async #trimOnce(): Promise<void> {
    const { broker, log, events } = this.#context;
    const { topic, index: partition } = this.#partition;
    try {
      const nextAt = await broker.trimDead(this.#partition, this.#limits);
      this.#trimming = undefined;
      if (nextAt !== undefined && !this.#stopped) this.#timer.arm(nextAt);
    } catch (error) {
      this.#trimming = undefined;
      events.emit('errors', { source: 'trim', topic, partition, error });
      // The next death, or the next owner, looks again.
      if (!(error instanceof BrokerUnavailableError)) log.error('Trimming dead letters failed', (error as Error).stack);
    }
  }
}
