import { randomUUID } from 'node:crypto';
import type { Outcome } from '../../store/deliveries/settle.js';
import type { Partition } from '../../store/partition.js';
import { repeatUntilServed } from '../../store/calls/serve.js';
import { Loop } from '../../time/loop.js';
import { partitionsOf } from '../../store/partitions.js';
import type { ConsumerContext } from '../consumer-context.js';

export interface TopicHoldOptions {
  readonly context: ConsumerContext;
  readonly topic: string;
  readonly partitions: number;
}

/** A period in which nothing is allowed to begin. */
interface Hold {
  /** End of the hold, in epoch milliseconds on the local clock. */
  readonly until: number;
  /** Partitions that know of it. */
  readonly told: Set<number>;
}

/** Proof that a partition knew of a hold. */
export type KnownHold = Pick<Hold, 'until'>;

/**
 * Holds a topic after one of its handlers has hit a rate limit that concerns all of it: nothing begins in any partition until the hold is
 * over.
 */
export class TopicHold {
  readonly #options: TopicHoldOptions;
  /** Caller name of its own, so that its calls are not taken for repeats of others. */
  readonly #caller = randomUUID();
  readonly #stop = new AbortController();
  readonly #calls: Loop;
  #sequence = 0;
  #hold: Hold | undefined;

  constructor(options: TopicHoldOptions) {
    this.#options = options;
    this.#calls = new Loop({ clock: options.context.clock, run: () => this.#tellAll(), gather: true });
  }

  /** Whether a hold that this process caused lets nothing begin. */
  get holds(): boolean {
    return this.#hold !== undefined && this.#options.context.clock.now() < this.#hold.until;
  }

  get #until(): number {
    return this.#hold?.until ?? -Infinity;
  }

  /** Holds the topic from now on if an outcome asks for that; a longer hold stays. */
  heed(outcome: Outcome): void {
    if (outcome.kind !== 'put-off' || outcome.scope !== 'topic') return;
    const { delay } = outcome;
    const { topic, context } = this.#options;
    const { clock, events } = context;
    const until = clock.now() + delay;
    if (until <= this.#until) return;
    this.#hold = { until, told: new Set() };
    if (events.wants('held')) events.emit('held', { topic, delay });
    this.#calls.poke();
  }

  /** Returns the hold that a partition knows of; call this before a claim is sent. */
  knownTo({ index }: Partition): KnownHold | undefined {
    return this.#hold?.told.has(index) ? this.#hold : undefined;
  }

  /**
   * Ends the hold after a claim found its partition no longer held: somebody has resumed the topic. Messages that this process alone held
   * back, it would claim again and again.
   *
   * @param known hold that the partition knew of before the claim was sent
   */
  ended(known: KnownHold | undefined): void {
    if (known === this.#hold) this.#hold = undefined;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#calls.stop();
  }

  /** Never rejects. */
  async #tellAll(): Promise<void> {
    const hold = this.#hold;
    if (!hold) return;
    const sequence = ++this.#sequence;
    const { topic, partitions } = this.#options;
    await Promise.all(partitionsOf(topic, partitions).map((partition) => this.#tell(partition, hold, sequence)));
  }

  /** Tells a partition of the hold, and stops trying once the hold is over or another one has taken its place. Never rejects. */
  async #tell(partition: Partition, hold: Hold, sequence: number): Promise<void> {
    const { broker, clock, events } = this.#options.context;
    const call = { caller: this.#caller, sequence };
    const isOfUse = (): boolean => hold === this.#hold && clock.now() < hold.until;
    try {
      await repeatUntilServed(() => broker.deliveries.hold(partition, call, Math.max(0, hold.until - clock.now())), {
        clock,
        signal: this.#stop.signal,
        worthRepeating: ({ refused }) => !refused && isOfUse(),
      });
      hold.told.add(partition.index);
    } catch (error) {
      if (this.#stop.signal.aborted || hold !== this.#hold) return;
      events.emit('errors', { source: 'limit', topic: partition.topic, partition: partition.index, error });
    }
  }
}
