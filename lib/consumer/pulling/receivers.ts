import type { Clock } from '../../time/clock.js';
import type { HandlerSlots } from '../admission/handler-slots.js';
import type { CheckedDelivery } from '../delivery/delivery.js';
import type { Destination, Handed, Handover } from '../delivery/topic-handling.js';

export interface ReceiverOptions {
  /** Most messages that it takes. */
  readonly max: number;
  /** Lease of the messages that it gets, in milliseconds. */
  readonly lease: number;
  /** Ends the wait. */
  readonly over: AbortSignal;
}

/** A receiver that waits for messages of a topic. */
class Receiver {
  readonly max: number;
  readonly lease: number;
  readonly taken: CheckedDelivery[] = [];
  readonly #end: (taken: readonly CheckedDelivery[]) => void;

  constructor({ max, lease }: ReceiverOptions, end: (taken: readonly CheckedDelivery[]) => void) {
    this.max = max;
    this.lease = lease;
    this.#end = end;
  }

  get room(): number {
    return this.max - this.taken.length;
  }

  end(): void {
    this.#end(this.taken);
  }
}

const TAKEN: Handover = { results: 'taken', ended: undefined };
const LEFT: Handover = { results: 'left', ended: undefined };

/** Longest time that a receiver with a message waits for more that are on their way, in milliseconds. */
export const GATHERING = 20;

/**
 * Queue of receivers that wait for messages of a topic in this process, first come, first served. A receiver leaves once it is full, or
 * once it has something and nothing more is being claimed.
 */
export class Receivers implements Destination {
  readonly settlesEach = true;
  readonly #clock: Clock;
  readonly #slots: Pick<HandlerSlots, 'resize'>;
  readonly #found: () => Promise<void>;
  /** Receivers that have room. */
  readonly #waiting = new Set<Receiver>();
  #wanted = 0;

  /**
   * @param slots the topic's, one for each message that receivers wait for
   * @param found resolves once nothing more is being claimed
   */
  constructor(clock: Clock, slots: Pick<HandlerSlots, 'resize'>, found: () => Promise<void>) {
    this.#clock = clock;
    this.#slots = slots;
    this.#found = found;
  }

  get isOpen(): boolean {
    return this.#waiting.size > 0;
  }

  /** Lease of the next receiver; for the others, it is changed before they get messages that were claimed with it. */
  get lease(): number | undefined {
    return this.#next?.lease;
  }

  get #next(): Receiver | undefined {
    return this.#waiting.values().next().value;
  }

  /** Waits for messages. Resolves with those it took; with none once the wait is over, or {@link dismiss} is called. */
  wait(options: ReceiverOptions): Promise<readonly CheckedDelivery[]> {
    return new Promise((resolve) => {
      const receiver = new Receiver(options, resolve);
      this.#waiting.add(receiver);
      this.#want(options.max);
      if (options.over.aborted) this.#end(receiver);
      options.over.addEventListener('abort', () => this.#end(receiver), { once: true });
    });
  }

  /** @param deliveries one message: batches are up to the receivers */
  async hand([one]: readonly CheckedDelivery[], handed: Handed): Promise<void> {
    // A listener that learned of the delivery may have ended the wait.
    const receiver = this.#next;
    if (one && receiver) this.#give(one, receiver);
    await handed(one && receiver ? TAKEN : LEFT);
  }

  /** Ends all waiting. */
  dismiss(): void {
    for (const receiver of this.#waiting) this.#end(receiver);
  }

  #give(one: CheckedDelivery, receiver: Receiver): void {
    one.startedAt = this.#clock.now();
    receiver.taken.push(one);
    this.#want(-1);
    if (receiver.room === 0) this.#end(receiver);
    else if (receiver.taken.length === 1) void this.#gather(receiver);
  }

  async #gather(receiver: Receiver): Promise<void> {
    const timer = this.#clock.setTimer(GATHERING, () => this.#end(receiver));
    await this.#found();
    timer.cancel();
    this.#end(receiver);
  }

  /** Ends a receiver in a later turn, when the caller of {@link hand} knows that the message was taken. */
  #end(receiver: Receiver): void {
    if (this.#waiting.delete(receiver)) this.#want(-receiver.room);
    setImmediate(() => receiver.end());
  }

  #want(more: number): void {
    this.#wanted += more;
    this.#slots.resize(this.#wanted);
  }
}
