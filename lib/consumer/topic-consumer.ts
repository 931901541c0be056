import type { Member } from '../broker/broker.interface.js';
import type { Startable } from '../time/startable.interface.js';
import type { TopicProgress } from '../topics/topic-progress.js';
import { Membership, type Shareholder } from './membership.js';
import { assignPartitions } from './partition-assignment.js';
import { PartitionOwnership } from './partition-ownership.js';
import { PartitionRun } from './partition-run.js';
import type { TopicHandling } from './topic-handling.js';

/** Consumes one topic: holds this process's share of its partitions, whoever else comes and goes. */
export class TopicConsumer implements Startable, Shareholder {
  readonly #handling: TopicHandling;
  readonly #membership: Membership;
  readonly #runs: readonly PartitionRun[];
  readonly #ownerships: readonly PartitionOwnership[];

  /**
   * @param partitions how many the topic has
   * @param heartbeat milliseconds
   */
  constructor(handling: TopicHandling, partitions: number, heartbeat: number) {
    this.#handling = handling;
    this.#membership = new Membership(handling, heartbeat, this);
    this.#runs = Array.from(
      { length: partitions },
      (_, index) => new PartitionRun(handling, { topic: this.topic, index }),
    );
    this.#ownerships = this.#runs.map((run) => new PartitionOwnership(handling, run, this.#membership));
  }

  async start(): Promise<void> {
    await this.#membership.start();
  }

  /** To be called when the broker can be reached again: looks at once, since signals may have been lost. */
  recover(): void {
    this.#membership.refresh();
    for (const run of this.#runs) run.renewLeases();
  }

  /** Sends claims that are not answered again. */
  retryClaims(): void {
    for (const run of this.#runs) run.retryClaim();
  }

  get topic(): string {
    return this.#handling.handled.topic;
  }

  /** Partitions that this process owns. */
  get holdings(): number[] {
    return this.#ownerships.filter(({ owned }) => owned).map(({ index }) => index);
  }

  get progress(): TopicProgress {
    return {
      topic: this.topic,
      heartbeatAt: this.#membership.answeredAt,
      unansweredSince: this.#membership.unansweredSince,
      owned: this.#runs.map(({ progress }) => progress).filter((progress) => progress !== undefined),
    };
  }

  /** Deliveries whose handlers run, or wait for an earlier run of the same message to end. */
  get inFlight(): number {
    return this.#runs.reduce((sum, { running }) => sum + running.size, 0);
  }

  /** Deliveries whose handlers run, and whose outcomes are not decided; such as `'42' of topic 'jobs' in Jobs.work`. */
  get unfinished(): string[] {
    return this.#runs.flatMap(({ running }) =>
      [...running]
        .filter(({ settled, startedAt }) => !settled && startedAt !== undefined)
        .map(({ id }) => `'${id}' of topic '${this.topic}' in ${this.#handling.handler.name}`),
    );
  }

  /** Outcomes that are not confirmed yet. */
  get unsettled(): number {
    return this.#runs.reduce((sum, { unsettled }) => sum + unsettled, 0);
  }

  /** Stops the intake and hands the partitions over; handlers that run go on. */
  async leave(): Promise<void> {
    await this.#membership.stop();
    await Promise.all(this.#ownerships.map((ownership) => ownership.release()));
    // Last, so that the others find the partitions free when they hear of it.
    await this.#membership.leave();
  }

  /** Gives back what still runs; to be called once the shutdown timeout is over. */
  releaseDeliveries(): void {
    for (const run of this.#runs) run.releaseAll();
  }

  /** Resolves once every outcome is confirmed. */
  async settled(): Promise<void> {
    await Promise.all(this.#runs.map((run) => run.allSettled()));
  }

  async stop(): Promise<void> {
    await this.#membership.stop();
    await Promise.all(this.#runs.map((run) => run.close()));
  }

  async takeShare(members: readonly Member[]): Promise<number | undefined> {
    const before = this.holdings.join();
    const share = new Set(assignPartitions(members, this.#runs.length).get(this.#handling.context.member));
    const results = await Promise.allSettled(
      this.#ownerships.map((ownership) => (share.has(ownership.index) ? ownership.hold() : ownership.release())),
    );
    const { holdings } = this;
    this.#handling.log.owns(holdings);
    // Tells the others what changed, so that they need not wait for a heartbeat.
    if (holdings.join() !== before) this.#membership.refresh();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    const retries = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
    return Math.min(...retries.filter((at) => at !== undefined));
  }
}
