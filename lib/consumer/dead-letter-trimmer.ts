import type { Partition } from '../broker/broker.interface.js';
import type { Startable } from '../time/startable.interface.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import type { ConsumerContext } from './consumer-context.js';
import { DueTimer } from './due-timer.js';

/** How long a failed step waits for its repeat, in milliseconds. */
const PAUSE_AFTER_FAILURE = 5000;

/** Keeps the dead letters of an owned partition within their limits of age and number, a bounded step at a time. */
export class DeadLetterTrimmer implements Startable {
  readonly #context: ConsumerContext;
  readonly #partition: Partition;
  readonly #limits: { readonly maxAge: number | undefined; readonly maxCount: number | undefined };
  readonly #timer: DueTimer;
  #trimming: Promise<void> | undefined;
  #stopped = false;
  /** Whether to look once more after the call under way, which may have been too early for what has died since. */
  #again = false;

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
    if (this.#trimming) this.#again = true;
    else this.#trimming = this.#trimAll();
  }

  /** Never rejects. */
  async #trimAll(): Promise<void> {
    let nextAt: number | undefined;
    do {
      this.#again = false;
      nextAt = await this.#trimOnce();
    } while (this.#again && !this.#stopped);
    this.#trimming = undefined;
    if (nextAt !== undefined && !this.#stopped) this.#timer.arm(nextAt);
  }

  /** @returns when to look again (epoch milliseconds on the broker's clock), if there is anything that will expire */
  async #trimOnce(): Promise<number | undefined> {
    const { broker, log, events } = this.#context;
    const { topic, index: partition } = this.#partition;
    try {
      return await broker.trimDead(this.#partition, this.#limits);
    } catch (error) {
      events.emit('errors', { source: 'trim', topic, partition, error });
      if (!(error instanceof BrokerUnavailableError)) log.error('Trimming dead letters failed', (error as Error).stack);
      // There may be no further death that would lead to another look.
      return broker.now() + PAUSE_AFTER_FAILURE;
    }
  }
}
