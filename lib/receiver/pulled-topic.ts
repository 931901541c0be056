import type { ConsumerContext } from '../consumer/consumer-context.js';
import type { ConsumerRuntime } from '../consumer/consumer.runtime.js';
import type { CheckedDelivery } from '../consumer/delivery-check.js';
import type { HandledTopic } from '../consumer/message-handler.interface.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import type { Timer } from '../time/clock.js';
import { TimeUp, within } from '../time/deadline.js';
import { describeDuration } from '../time/duration.js';
import { RECEIVER } from './receipt-settler.js';
import { type ReceiveRequest, WaitingReceivers } from './waiting-receivers.js';

/** How long this process keeps its partitions once nobody receives any more, in milliseconds. */
const KEEPS_PARTITIONS = 5000;

/** How long somebody who does not want to wait has to wait for the partitions all the same, in milliseconds. */
const PATIENCE = 5000;

export interface PulledTopicOptions {
  readonly context: ConsumerContext;
  readonly handled: HandledTopic;
  readonly runtime: Pick<ConsumerRuntime, 'pull' | 'unpull'>;
}

/** A topic that this process pulls: it holds partitions while somebody receives, and for a while after. */
export class PulledTopic {
  readonly #options: PulledTopicOptions;
  readonly #waiting: WaitingReceivers;
  #receivers = 0;
  #opening: Promise<void> | undefined;
  /** So that receivers need no timer, and none of the listeners of their signals, once the partitions are held. */
  #isOpen = false;
  #closing: Timer | undefined;
  #isClosed = false;

  constructor(options: PulledTopicOptions) {
    this.#options = options;
    this.#waiting = new WaitingReceivers(options.context);
  }

  /** Whether this process has its share of the partitions: then {@link receive} neither waits for them nor rejects. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** @throws ConfigurationError, BrokerUnavailableError if the partitions cannot be taken */
  async receive(request: ReceiveRequest): Promise<CheckedDelivery[]> {
    const { clock } = this.#options.context;
    const until = clock.now() + request.wait;
    this.#closing?.cancel();
    this.#receivers++;
    try {
      if (!this.#isOpen && !(await this.#opens(request))) return [];
      return await this.#waiting.receive({ ...request, wait: Math.max(0, until - clock.now()) });
    } finally {
      this.#receivers--;
      this.#closeLater();
    }
  }

  /**
   * Takes the share of the partitions that this process gets. What has begun goes on whoever waits for it, until Redis lets it.
   *
   * @throws ConfigurationError, BrokerUnavailableError if Redis refuses for good
   */
  async open(): Promise<void> {
    this.#opening ??= this.#take();
    await this.#opening;
  }

  /** Answers whoever waits. */
  close(): void {
    this.#isClosed = true;
    this.#closing?.cancel();
    this.#waiting.close();
  }

  /** Answers whether this process gets its share of the partitions; `false` if the waiting was ended. */
  async #opens({ wait, signal }: ReceiveRequest): Promise<boolean> {
    const patience = Math.max(wait, PATIENCE);
    try {
      await within(this.#options.context.clock, patience, this.open(), { signal });
      return true;
    } catch (error) {
      if (!(error instanceof TimeUp)) throw error;
      if (signal?.aborted) return false;
      throw new BrokerUnavailableError(
        `Topic '${this.#options.handled.topic}' cannot be received from: Redis has not let this process take partitions within ${describeDuration(patience)}.`,
        { cause: error },
      );
    }
  }

  async #take(): Promise<void> {
    const { handled, runtime } = this.#options;
    const waiting = this.#waiting;
    try {
      await runtime.pull({
        handler: { name: RECEIVER, batch: undefined },
        handled,
        priority: 0,
        slots: waiting.slots,
        destination: waiting,
        lease: () => waiting.lease,
      });
      this.#isOpen = true;
      // Whoever asked for it may have gone by now.
      this.#closeLater();
    } catch (error) {
      // The next one tries again.
      this.#opening = undefined;
      throw error;
    }
  }

  #closeLater(): void {
    if (!this.#isOpen || this.#receivers > 0 || this.#isClosed) return;
    this.#closing?.cancel();
    this.#closing = this.#options.context.clock.setTimer(KEEPS_PARTITIONS, () => this.#leave());
  }

  #leave(): void {
    this.#opening = undefined;
    this.#isOpen = false;
    const { context, handled, runtime } = this.#options;
    runtime.unpull(handled.topic).catch((error: unknown) => {
      context.events.emit('errors', { source: 'membership', topic: handled.topic, error });
    });
  }
}
