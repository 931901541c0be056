import type { Member, Unsubscribe } from '../broker/broker.interface.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { Loop } from '../time/loop.js';
import type { Startable } from '../time/startable.interface.js';
import type { TopicHandling } from './topic-handling.js';

/** Members missing so many heartbeats count as gone. */
const HEARTBEATS_PER_SESSION = 3;

/** How soon to try again after a heartbeat has failed, in milliseconds. */
const RETRY_PAUSE = 250;

/** Time without a heartbeat after which a member counts as gone, in milliseconds as is the heartbeat. */
export function sessionOf(heartbeat: number): number {
  return heartbeat * HEARTBEATS_PER_SESSION;
}

/** What shares the partitions of a topic with the other members of its group. */
export interface Shareholder {
  /** The partitions that this process holds now. */
  readonly holdings: readonly number[];
  /**
   * Takes and gives up partitions, after each heartbeat.
   *
   * @returns when the next heartbeat is wanted at the latest (epoch milliseconds on the broker's clock)
   */
  takeShare(members: readonly Member[]): Promise<number | undefined>;
}

/** Keeps this process in a topic's group: joins, sends heartbeats, and looks again as soon as the others change. */
export class Membership implements Startable {
  readonly #handling: TopicHandling;
  readonly #shareholder: Shareholder;
  readonly #beats: Loop;
  #beatingSince: number | undefined;
  #answeredAt: number;
  #unsubscribe: Unsubscribe | undefined;

  constructor(
    handling: TopicHandling,
    /** Milliseconds. */
    readonly heartbeat: number,
    shareholder: Shareholder,
  ) {
    this.#handling = handling;
    this.#shareholder = shareholder;
    const { clock } = handling.context;
    this.#answeredAt = clock.now();
    this.#beats = new Loop({ clock, run: () => this.#beat() });
  }

  /** Milliseconds without a heartbeat after which a member counts as gone. */
  get session(): number {
    return sessionOf(this.heartbeat);
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
    if (this.#beats.stopped) return;
    const { context, handled } = this.#handling;
    const look = (): void => this.refresh();
    this.#unsubscribe ??= context.broker.watchMembers(handled.topic, look, look);
    await this.#beats.start();
  }

  /** Ends the heartbeats. Without {@link leave} the others take this member for gone when its session ends. */
  async stop(): Promise<void> {
    const unsubscribe = this.#unsubscribe;
    this.#unsubscribe = undefined;
    await this.#beats.stop();
    await unsubscribe?.();
  }

  /**
   * Tells the others that this member is gone; to be called once it is stopped and holds nothing any more.
   *
   * @throws BrokerUnavailableError
   */
  async leave(): Promise<void> {
    const { context, handled } = this.#handling;
    if (this.#beats.started) await context.broker.leave(handled.topic, context.member);
  }

  /** Sends a heartbeat now; several requests while one is under way are one. */
  refresh(): void {
    if (this.#beats.started) this.#beats.poke();
  }

  /** @returns in how many milliseconds the next heartbeat is wanted */
  async #beat(): Promise<number> {
    const { context, handled, log } = this.#handling;
    const { broker, clock, member, events } = context;
    const { topic } = handled;
    this.#beatingSince = clock.now();
    try {
      const members = await broker.join(topic, member, this.session, this.#shareholder.holdings);
      const wanted = this.#beats.stopped ? undefined : await this.#shareholder.takeShare(members);
      log.heartbeatAnswered();
      this.#answeredAt = clock.now();
      // A member that is not heard of any more: look when its session ends, not a heartbeat later.
      const firstEnd = Math.min(...members.filter(({ id }) => id !== member).map(({ expiresAt }) => expiresAt + 1));
      return Math.min(this.heartbeat, Math.max(1, Math.min(wanted ?? Infinity, firstEnd) - broker.now()));
    } catch (error) {
      events.emit('errors', { source: 'membership', topic, error });
      if (error instanceof BrokerUnavailableError) log.heartbeatFailed(error.message);
      else context.log.error(`Heartbeat in topic '${topic}' failed`, (error as Error).stack);
      return Math.min(this.heartbeat, RETRY_PAUSE);
    } finally {
      this.#beatingSince = undefined;
    }
  }
}
