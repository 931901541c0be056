import { randomUUID } from 'node:crypto';
import type { Partition } from '../broker/broker.interface.js';
import { repeatUntilServed } from '../broker/serve.js';
import { Loop } from '../time/loop.js';
import { partitionsOf } from '../topics/partitions.js';
import type { ConsumerContext } from './consumer-context.js';

export interface TopicHoldOptions {
  readonly context: ConsumerContext;
  readonly topic: string;
  readonly partitions: number;
}

/** Holds a topic after a handler has met a rate limit of all of it: nothing begins in any partition until that is over. */
export class TopicHold {
  readonly #options: TopicHoldOptions;
  /** Its own, so that its calls are not taken for repeats of others. */
  readonly #caller = randomUUID();
  readonly #stop = new AbortController();
  readonly #calls: Loop;
  #sequence = 0;
  /** Epoch milliseconds on the local clock, as is the next. */
  #until = -Infinity;
  /** As the partitions were told. */
  #told = -Infinity;

  constructor(options: TopicHoldOptions) {
    this.#options = options;
    this.#calls = new Loop({ clock: options.context.clock, run: () => this.#tellAll(), gather: true });
  }

  /** Whether nothing may begin, as far as this process has caused that. */
  get holds(): boolean {
    return this.#options.context.clock.now() < this.#until;
  }

  /** @param delay from now on, in milliseconds; a longer hold stays */
  extend(delay: number): void {
    const { topic, context } = this.#options;
    const { clock, events } = context;
    const until = clock.now() + delay;
    if (until <= this.#until) return;
    this.#until = until;
    if (events.wants('held')) events.emit('held', { topic, delay });
    this.#calls.poke();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#calls.stop();
  }

  /** Never rejects. */
  async #tellAll(): Promise<void> {
    if (this.#until <= this.#told) return;
    const until = this.#until;
    const sequence = ++this.#sequence;
    const { topic, partitions } = this.#options;
    await Promise.all(partitionsOf(topic, partitions).map((partition) => this.#tell(partition, until, sequence)));
    this.#told = until;
  }

  /** What cannot be told before the hold is over need not be told any more. */
  async #tell(partition: Partition, until: number, sequence: number): Promise<void> {
    const { broker, clock, events } = this.#options.context;
    const call = { caller: this.#caller, sequence };
    try {
      await repeatUntilServed(() => broker.hold(partition, call, Math.max(0, until - clock.now())), {
        clock,
        signal: this.#stop.signal,
        worthRepeating: ({ refused }) => !refused && clock.now() < until,
      });
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      events.emit('errors', { source: 'limit', topic: partition.topic, partition: partition.index, error });
    }
  }
}
