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

/** Nothing may begin for a while. */
interface Hold {
  /** Epoch milliseconds on the local clock. */
  readonly until: number;
  /** The partitions that know of it. */
  readonly told: Set<number>;
}

/** Proves that a partition knew of a hold. */
export type KnownHold = Pick<Hold, 'until'>;

/** Holds a topic after a handler has met a rate limit of all of it: nothing begins in any partition until that is over. */
export class TopicHold {
  readonly #options: TopicHoldOptions;
  /** Its own, so that its calls are not taken for repeats of others. */
  readonly #caller = randomUUID();
  readonly #stop = new AbortController();
  readonly #calls: Loop;
  #sequence = 0;
  #hold: Hold | undefined;

  constructor(options: TopicHoldOptions) {
    this.#options = options;
    this.#calls = new Loop({ clock: options.context.clock, run: () => this.#tellAll(), gather: true });
  }

  /** Whether nothing may begin, as far as this process has caused that. */
  get holds(): boolean {
    return this.#options.context.clock.now() < this.#until;
  }

  get #until(): number {
    return this.#hold?.until ?? -Infinity;
  }

  /** Holds the topic if an outcome asks for that, from now on; a longer hold stays. */
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

  /** To be asked before a claim is sent: the hold that its partition knows of. */
  knownTo({ index }: Partition): KnownHold | undefined {
    return this.#hold?.told.has(index) ? this.#hold : undefined;
  }

  /**
   * A claim has found that its partition is not held any more: somebody has resumed the topic. What this process would keep back by
   * itself, it would claim again at once, and again.
   *
   * @param known what the partition knew of before the claim was sent
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

  /** What cannot be told before the hold is over, or another one has taken its place, need not be told any more. */
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
