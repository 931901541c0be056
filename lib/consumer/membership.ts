import type { Member, Unsubscribe } from '../broker/broker.interface.js';
import type { Timer } from '../time/clock.js';
import type { Startable } from '../time/startable.interface.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import type { ConsumerContext } from './consumer-context.js';

/** Members missing so many heartbeats count as gone. */
const HEARTBEATS_PER_SESSION = 3;

/** How soon to try again where a heartbeat failed, in milliseconds. */
const RETRY_PAUSE = 250;

/** Time without a heartbeat after which a member counts as gone, in milliseconds as is the heartbeat. */
export function sessionOf(heartbeat: number): number {
  return heartbeat * HEARTBEATS_PER_SESSION;
}

export interface MembershipOptions {
  readonly context: ConsumerContext;
  readonly topic: string;
  /** Milliseconds. */
  readonly heartbeat: number;
  /** The partitions that this process holds now. */
  readonly holdings: () => readonly number[];
  /**
   * Called after each heartbeat.
   *
   * @returns when the next one is wanted at the latest (epoch milliseconds on the broker's clock)
   */
  readonly onMembers: (members: readonly Member[]) => Promise<number | undefined>;
}

/** Keeps this process in a topic's group: joins, sends heartbeats, and looks again as soon as the others change. */
export class Membership implements Startable {
  readonly #options: MembershipOptions;
  #timer: Timer | undefined;
  #beating: Promise<void> | undefined;
  #beatingSince: number | undefined;
  #answeredAt: number;
  #again = false;
  #stopped = false;
  #joined = false;
  /** Whether the latest heartbeat failed; one warning is enough. */
  #failing = false;
  #unsubscribe: Unsubscribe | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#answeredAt = options.context.clock.now();
  }

  /** Milliseconds without a heartbeat after which a member counts as gone. */
  get session(): number {
    return sessionOf(this.#options.heartbeat);
  }

  /** When the latest heartbeat that was answered ended, or this was made; epoch milliseconds on the local clock. */
  get answeredAt(): number {
    return this.#answeredAt;
  }

  /** When the heartbeat under way began, on the same clock. */
  get unansweredSince(): number | undefined {
    return this.#beatingSince;
  }

  /** Resolves once this process has joined and knows its share. */
  async start(): Promise<void> {
    if (this.#joined || this.#stopped) return;
    this.#joined = true;
    const { context, topic } = this.#options;
    const look = (): void => this.refresh();
    this.#unsubscribe = context.broker.watchMembers(topic, look, look);
    await this.#beat();
  }

  /** Ends the heartbeats. Without {@link leave} the others take this member for gone when its session ends. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#beating;
    await this.#unsubscribe?.();
  }

  /**
   * Tells the others that this member is gone; to be called once it is stopped and holds nothing any more.
   *
   * @throws BrokerUnavailableError
   */
  async leave(): Promise<void> {
    const { context, topic } = this.#options;
    if (this.#joined) await context.broker.leave(topic, context.member);
  }

  /** Sends a heartbeat now; several wishes while one is under way are one. */
  refresh(): void {
    if (this.#stopped || !this.#joined) return;
    if (this.#beating) this.#again = true;
    else void this.#beat();
  }

  async #beat(): Promise<void> {
    this.#timer?.cancel();
    this.#beating = this.#beatUntilQuiet();
    await this.#beating;
  }

  /** Never rejects. */
  async #beatUntilQuiet(): Promise<void> {
    const { context, heartbeat } = this.#options;
    let next: number;
    do {
      this.#again = false;
      next = await this.#beatOnce();
    } while (this.#again && !this.#stopped);
    this.#beating = undefined;
    if (this.#stopped) return;
    const pause = Math.min(heartbeat, Math.max(1, next - context.broker.now()));
    this.#timer = context.clock.setTimer(pause, () => void this.#beat());
  }

  /** @returns when the next heartbeat is wanted (epoch milliseconds on the broker's clock) */
  async #beatOnce(): Promise<number> {
    const { context, topic, holdings, onMembers } = this.#options;
    const { broker, clock, member, log, events } = context;
    this.#beatingSince = clock.now();
    try {
      const members = await broker.join(topic, member, this.session, holdings());
      const wanted = this.#stopped ? undefined : await onMembers(members);
      this.#failing = false;
      this.#answeredAt = clock.now();
      // A member that is not heard of any more: look when its session ends, not a heartbeat later.
      const firstEnd = Math.min(...members.filter(({ id }) => id !== member).map(({ expiresAt }) => expiresAt + 1));
      return Math.min(wanted ?? Infinity, firstEnd);
    } catch (error) {
      events.emit('errors', { source: 'membership', topic, error });
      if (!(error instanceof BrokerUnavailableError)) {
        log.error(`Heartbeat in topic '${topic}' failed`, (error as Error).stack);
      } else if (!this.#failing) {
        log.warn(`Heartbeats in topic '${topic}' fail: ${error.message}`);
      }
      this.#failing = true;
      return broker.now() + RETRY_PAUSE;
    } finally {
      this.#beatingSince = undefined;
    }
  }
}
