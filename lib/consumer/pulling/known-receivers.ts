import { MAX_REPORTED_RECEIVERS, type ReportedReceiver } from '../../store/records/process-records.js';
import type { Clock } from '../../time/clock.js';

/** For how long somebody who receives no more is told of, in milliseconds. */
const REMEMBERED = 15 * 60_000;

/** Most of those who are known, whatever names are given. */
const MAX_KNOWN = 10 * MAX_REPORTED_RECEIVERS;

/** Most messages that are watched until they are settled: they may have been settled where this process does not hear of it. */
const MAX_HELD = 100_000;

interface KnownReceiver {
  readonly topic: string;
  readonly consumer: string;
  waiting: number;
  holding: number;
  /** When its latest call ended, epoch milliseconds on the broker's clock. */
  seenAt: number;
}

interface Held {
  readonly by: KnownReceiver;
  /** Local clock, epoch milliseconds. */
  endsAt: number;
}

export interface KnownReceiversOptions {
  readonly clock: Clock;
  /** The broker's clock, epoch milliseconds. */
  readonly now: () => number;
  /** Called when somebody receives who was not known. */
  readonly onNew: () => void;
}

/** Those who receive messages from this process, by topic and name: for those who look at the fleet, nothing else depends on it. */
export class KnownReceivers {
  readonly #options: KnownReceiversOptions;
  /** In the order in which they have received last. */
  readonly #known = new Map<string, KnownReceiver>();
  /** By the tokens of their deliveries. */
  readonly #held = new Map<string, Held>();

  constructor(options: KnownReceiversOptions) {
    this.#options = options;
  }

  /**
   * Somebody begins to wait for messages.
   *
   * @returns to be called when the wait is over
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
   * Somebody has got messages.
   *
   * @param tokens of their deliveries
   * @param lease milliseconds
   */
  took(topic: string, consumer: string, tokens: readonly string[], lease: number): void {
    const by = this.#known.get(nameOf(topic, consumer));
    if (!by) return;
    const endsAt = this.#options.clock.now() + lease;
    for (const token of tokens) if (this.#held.size < MAX_HELD) this.#held.set(token, { by, endsAt });
  }

  /** A delivery lasts for so long from now on, in milliseconds; 0: it has ended. */
  lasts(token: string, lease: number): void {
    const held = this.#held.get(token);
    if (!held) return;
    if (lease > 0) held.endsAt = this.#options.clock.now() + lease;
    else this.#held.delete(token);
  }

  /** As others are told of them. */
  get told(): ReportedReceiver[] {
    this.#count();
    const oldest = this.#options.now() - REMEMBERED;
    const all = [...this.#known.values()].filter((one) => isAtWork(one) || one.seenAt > oldest);
    return all
      .toSorted((a, b) => Number(isAtWork(b)) - Number(isAtWork(a)) || b.seenAt - a.seenAt)
      .slice(0, MAX_REPORTED_RECEIVERS)
      .map(({ seenAt, ...one }) => (one.waiting > 0 ? one : { ...one, seenAt: Math.round(seenAt) }));
  }

  /** Counts who has what; whose lease has ended belongs to nobody. */
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

/** No topic has a space. */
function nameOf(topic: string, consumer: string): string {
  return `${topic} ${consumer}`;
}
