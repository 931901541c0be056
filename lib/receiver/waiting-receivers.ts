import type { Clock, Timer } from '../time/clock.js';
import type { ConsumerContext } from '../consumer/consumer-context.js';
import type { CheckedDelivery } from '../consumer/delivery-check.js';
import { type Destination, type Handover, announce } from '../consumer/handler-destination.js';
import { HandlerSlots, SlotPool } from '../consumer/handler-slots.js';
import { quoted } from '../log.js';

/** What somebody waits for. Times in milliseconds. */
export interface ReceiveRequest {
  /** Most messages. */
  readonly max: number;
  /** For how long they belong to whoever receives them; 0: they are delivered at most once. */
  readonly lease: number;
  /** Longest time until it is answered, with what there is by then. */
  readonly wait: number;
  /** Answers it early, with nothing. */
  readonly signal: AbortSignal | undefined;
  /**
   * Asked before each message is taken for it; `false`: it has got what it wanted elsewhere, and its signal aborts.
   * @defaultValue it takes what it was waiting for
   */
  readonly mayTake?: () => boolean;
}

/** Somebody is answered once so many characters of envelopes have come; one message more is fine. */
const MAX_SIZE = 1024 * 1024;

interface Waiting {
  readonly request: ReceiveRequest;
  readonly received: CheckedDelivery[];
  /** Characters of the envelopes that it has received. */
  size: number;
  readonly answer: () => void;
}

const NOTHING: Handover = { results: undefined, ended: undefined };

/**
 * Those in this process who wait for messages of one topic. As many messages are claimed as they want, so that none waits here while its
 * lease runs: first come, first served, and those who want another lease than the first come after. What comes when nobody waits any
 * more goes back.
 */
export class WaitingReceivers implements Destination {
  /** What they want is what may be claimed. */
  readonly slots: HandlerSlots;
  readonly #context: ConsumerContext;
  readonly #pool = new SlotPool(Infinity);
  readonly #waiting = new Set<Waiting>();
  /** Delivered at most once, when nobody waited any more. */
  readonly #kept: CheckedDelivery[] = [];
  #isClosed = false;

  constructor(context: ConsumerContext) {
    this.#context = context;
    this.slots = new HandlerSlots(this.#pool, () => this.#wanted);
  }

  /** What the next claim leases its messages for, in milliseconds. */
  get lease(): number {
    return this.#first?.request.lease ?? 0;
  }

  /** Resolves with at least one message as soon as there are some, with none if there are none in time. */
  async receive(request: ReceiveRequest): Promise<CheckedDelivery[]> {
    const { max, wait, signal, mayTake = () => true } = request;
    if (this.#isClosed || signal?.aborted) return [];
    if (this.#kept.length > 0 && mayTake()) return this.#kept.splice(0, fitting(this.#kept, max));
    const received: CheckedDelivery[] = [];
    let timer: Timer | undefined;
    let waiting: Waiting | undefined;
    const answered = new Promise<void>((resolve) => {
      const answer = (): void => resolve();
      waiting = { request, received, size: 0, answer };
      this.#waiting.add(waiting);
      signal?.addEventListener('abort', answer);
      timer = wait > 0 ? this.#clock.setTimer(wait, answer) : undefined;
    });
    this.slots.reconsider();
    // One look at what is due now.
    if (wait === 0) void this.#pool.quiet().then(waiting?.answer);
    await answered;
    timer?.cancel();
    if (waiting) {
      signal?.removeEventListener('abort', waiting.answer);
      this.#waiting.delete(waiting);
    }
    // Others may want another lease.
    this.slots.reconsider();
    return received;
  }

  /** Never rejects. */
  async hand(checked: readonly CheckedDelivery[]): Promise<Handover> {
    return { ...NOTHING, taken: checked.map((one) => this.#take(one)) };
  }

  /** Answers whoever waits; nobody receives anything any more. */
  close(): void {
    this.#isClosed = true;
    for (const { answer } of this.#waiting) answer();
    for (const { delivery } of this.#kept.splice(0)) {
      const { id, partition } = delivery;
      const { topic, index } = partition;
      const error = new Error(
        `Message ${quoted(id)} of topic '${topic}' is lost: nobody received it any more, and it is delivered at most once.`,
      );
      this.#context.log.error(error.message);
      this.#context.events.emit('errors', { source: 'handler', topic, partition: index, id, error });
    }
  }

  get #clock(): Clock {
    return this.#context.clock;
  }

  get #first(): Waiting | undefined {
    const [first] = this.#waiting;
    return first;
  }

  get #wanted(): number {
    const { lease } = this;
    let wanted = 0;
    for (const { request, received } of this.#waiting) {
      if (request.lease === lease) wanted += request.max - received.length;
    }
    return wanted;
  }

  /** Answers whether somebody has taken it. */
  #take(checked: CheckedDelivery): boolean {
    const { delivery } = checked;
    const { lease, isGone } = delivery;
    const taker = [...this.#waiting].find(
      ({ request, received }) =>
        request.lease === lease && received.length < request.max && request.mayTake?.() !== false,
    );
    if (!taker && !isGone) return false;
    delivery.startedAt = this.#clock.now();
    announce(this.#context, [checked]);
    if (!taker) {
      this.#kept.push(checked);
      return true;
    }
    taker.received.push(checked);
    taker.size += delivery.envelope.length;
    if (taker.received.length === taker.request.max || taker.size >= MAX_SIZE) this.#answer(taker);
    else if (taker.received.length === 1) void this.#pool.quiet().then(() => this.#answer(taker));
    return true;
  }

  #answer(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    waiting.answer();
  }
}

/** How many of some messages somebody gets at once, at most `max`. */
function fitting(kept: readonly CheckedDelivery[], max: number): number {
  let size = 0;
  const last = kept.findIndex(({ delivery }) => (size += delivery.envelope.length) >= MAX_SIZE);
  return Math.min(max, last < 0 ? kept.length : last + 1);
}
