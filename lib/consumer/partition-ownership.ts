import type { Membership } from './membership.js';
import type { PartitionOwner, PartitionRun } from './partition-run.js';
import type { TopicHandling } from './topic-handling.js';

/** How late a signal may be at most before it counts as lost, in milliseconds. */
const MAX_SIGNAL_GRACE = 1000;

/** Whether this process owns a partition: takes it, keeps it, gives it up. What it does meanwhile is the partition's run. */
export class PartitionOwnership implements PartitionOwner {
  readonly #handling: TopicHandling;
  readonly #run: PartitionRun;
  readonly #membership: Membership;
  #owned = false;

  constructor(handling: TopicHandling, run: PartitionRun, membership: Membership) {
    this.#handling = handling;
    this.#run = run;
    this.#membership = membership;
  }

  get owned(): boolean {
    return this.#owned;
  }

  /** Number of the partition. */
  get index(): number {
    return this.#run.partition.index;
  }

  /**
   * Becomes or stays the owner, if nobody else is.
   *
   * @returns when to try again if somebody else is (epoch milliseconds on the broker's clock)
   * @throws BrokerUnavailableError
   */
  async hold(): Promise<number | undefined> {
    const { context, watch } = this.#handling;
    if (this.#owned) {
      const { session, heartbeat } = this.#membership;
      const { owned, nextDueAt } = await context.broker.renew(this.#run.partition, context.member, session);
      if (owned) {
        const grace = Math.min(heartbeat / 2, MAX_SIGNAL_GRACE);
        if (nextDueAt !== undefined && this.#run.notice(nextDueAt, grace)) void watch.signalLost();
        return undefined;
      }
      await this.#disown();
    }
    return this.#acquire();
  }

  /**
   * Gives the partition up: claims nothing more, and lets another process have it.
   *
   * @throws BrokerUnavailableError
   */
  async release(): Promise<void> {
    if (!this.#owned) return;
    const { broker, member } = this.#handling.context;
    await this.#disown();
    await broker.release(this.#run.partition, member);
  }

  lost(): void {
    void this.#disown().then(() => this.#membership.refresh());
  }

  async #acquire(): Promise<number | undefined> {
    const { broker, member } = this.#handling.context;
    this.#run.listen();
    const result = await broker.acquire(this.#run.partition, member, this.#membership.session);
    if (!result.acquired) return result.retryAt;
    this.#owned = true;
    this.#announce(true);
    this.#run.start(this, result.token);
    return undefined;
  }

  async #disown(): Promise<void> {
    if (!this.#owned) return;
    this.#owned = false;
    await this.#run.stop();
    this.#announce(false);
  }

  #announce(owned: boolean): void {
    const { events } = this.#handling.context;
    const { topic, index } = this.#run.partition;
    if (events.wants('ownership')) events.emit('ownership', { topic, partition: index, owned });
  }
}
