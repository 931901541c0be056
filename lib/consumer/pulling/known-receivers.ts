import { MAX_REPORTED_RECEIVERS, type ReportedReceiver } from '../../store/records/process-records.js';
import type { Clock } from '../../time/clock.js';

/** Time for which a receiver that no longer receives is still reported, in milliseconds. */
const REMEMBERED = 15 * 60_000;

/** Most known receivers, whatever names are given. */
const MAX_KNOWN = 10 * MAX_REPORTED_RECEIVERS;

/** Most messages that are tracked until they are settled: some may be settled without this process learning of it. */
const MAX_HELD = 100_000;

interface KnownReceiver {
  readonly topic: string;
  readonly consumer: string;
  waiting: number;
  holding: number;
  /** Time when its latest call ended, in epoch milliseconds on the broker's clock. */
  seenAt: number;
}

interface Held {
  readonly by: KnownReceiver;
  /** End of its lease, in epoch milliseconds on the local clock. */
  endsAt: number;
}

export interface KnownReceiversOptions {
  readonly clock: Clock;
  /** Returns the time of the broker's clock, in epoch milliseconds. */
  readonly now: () => number;
  /** Called when an unknown receiver begins to receive. */
  readonly onNew: () => void;
}

/** Receivers of messages from this process, by topic and name. Only views of the fleet use them. */
export class KnownReceivers {
  readonly #options: KnownReceiversOptions;
  /** Receivers in the order of their latest receive(). */
  readonly #known = new Map<string, KnownReceiver>();
  /** Held messages by the tokens of their deliveries. */
  readonly #held = new Map<string, Held>();

  constructor(options: KnownReceiversOptions) {
    this.#options = options;
  }

  /**
   * Notes that a receiver begins to wait for messages.
   *
   * @returns a function to call when the wait is over
   */
  begin(topic: string, consumer: string): () => void {
    const { now, onNew } = this.#options;
    const name = nameOf(topic, consumer);
    const known = this.#known.get(name);
    const receiver = known ?? { topic, consumer, waiting: 0, holding: 0, seenAt: now() };
    receiver.waiting++;
    this.#known.delete(name);
    this.#known.set(name, receiver);
    if (!known) {
      this.#forget();
      onNew();
    }
    return () => {
      receiver.waiting--;
      receiver.seenAt = now();
    };
  }

  /**
   * Notes that a receiver has got messages.
   *
   * @param tokens those of their deliveries
   * @param lease milliseconds
   */
  took(topic: string, consumer: string, tokens: readonly string[], lease: number): void {
    const by = this.#known.get(nameOf(topic, consumer));
    if (!by) return;
    const endsAt = this.#options.clock.now() + lease;
    for (const token of tokens) if (this.#held.size < MAX_HELD) this.#held.set(token, { by, endsAt });
  }

  /** Notes that a delivery lasts for `lease` milliseconds from now on; 0 if it has ended. */
  lasts(token: string, lease: number): void {
    const held = this.#held.get(token);
    if (!held) return;
    if (lease > 0) held.endsAt = this.#options.clock.now() + lease;
    else this.#held.delete(token);
  }

  /** Receivers as reported to others. */
  get told(): ReportedReceiver[] {
    this.#count();
    const oldest = this.#options.now() - REMEMBERED;
    const all = [...this.#known.values()].filter((one) => isAtWork(one) || one.seenAt > oldest);
    return all
      .toSorted((a, b) => Number(isAtWork(b)) - Number(isAtWork(a)) || b.seenAt - a.seenAt)
      .slice(0, MAX_REPORTED_RECEIVERS)
      .map(({ seenAt, ...one }) => (one.waiting > 0 ? one : { ...one, seenAt: Math.round(seenAt) }));
  }

  /** Counts the messages of each receiver; one whose lease has ended belongs to none. */
  #count(): void {
    const now = this.#options.clock.now();
    for (const receiver of this.#known.values()) receiver.holding = 0;
    for (const [token, { by, endsAt }] of this.#held) {
      if (endsAt <= now) this.#held.delete(token);
      else by.holding++;
    }
  }

  #forget(): void {
    for (const [name, { waiting }] of this.#known) {
      if (this.#known.size <= MAX_KNOWN) return;
      if (waiting === 0) this.#known.delete(name);
    }
  }
}

function isAtWork({ waiting, holding }: KnownReceiver): boolean {
  return waiting > 0 || holding > 0;
}

/** Returns a unique name: no topic contains a space. */
function nameOf(topic: string, consumer: string): string {
  return `${topic} ${consumer}`;
}
