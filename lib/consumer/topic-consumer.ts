import type { Member, Partition } from '../broker/broker.interface.js';
import type { Startable } from '../time/startable.interface.js';
import type { ConsumerContext } from './consumer-context.js';
import type { DeadLetterNotifier } from './dead-letter-notifier.js';
import { LeaseRenewer, type RunningDeliveries } from './lease-renewer.js';
import { Membership } from './membership.js';
import type { HandledTopic, MessageHandler } from './message-handler.interface.js';
import { assignPartitions } from './partition-assignment.js';
import { PartitionConsumer } from './partition-consumer.js';
import type { TopicProgress } from '../topics/progress.js';
import { type ConsumptionLog, TopicLog } from './topic-log.js';
import type { WorkerGroup } from './worker-group.js';
import type { WorkerPool } from './worker-pool.js';

/** How late a signal may be at most before it counts as lost, in milliseconds. */
const MAX_SIGNAL_GRACE = 1000;

export interface TopicConsumerOptions {
  readonly context: ConsumerContext;
  readonly handler: MessageHandler;
  readonly handled: HandledTopic;
  readonly partitions: number;
  readonly pool: WorkerPool;
  /** The slots of the handler, shared by all of its topics. */
  readonly group: WorkerGroup;
  readonly notifier: DeadLetterNotifier;
  readonly log: ConsumptionLog;
  /** Place of the topic among those of its handler, 0 for the first. */
  readonly priority: number;
  /** Milliseconds. */
  readonly heartbeat: number;
  /** Told when a signal turns out to be lost. */
  readonly onSignalLost: () => void;
}

/** Consumes one topic: holds this process's share of its partitions, whoever else comes and goes. */
export class TopicConsumer implements Startable {
  readonly #options: TopicConsumerOptions;
  readonly #membership: Membership;
  readonly #renewer: LeaseRenewer;
  readonly #log: TopicLog;
  readonly #partitions: readonly PartitionConsumer[];

  constructor(options: TopicConsumerOptions) {
    this.#options = options;
    const { context, handler, handled, partitions, pool, group, notifier, priority, heartbeat, onSignalLost } = options;
    const { topic, schema, settings } = handled;
    this.#log = new TopicLog(context.log, options.log, topic, partitions);
    this.#membership = new Membership({
      context,
      topic,
      heartbeat,
      holdings: () => this.holdings,
      onMembers: (members) => this.#takeShare(members),
    });
    const { session } = this.#membership;
    this.#partitions = Array.from(
      { length: partitions },
      (_, index) =>
        new PartitionConsumer({
          context,
          partition: { topic, index },
          handler,
          schema,
          settings,
          pool,
          group,
          notifier,
          priority,
          session,
          signalGrace: Math.min(heartbeat / 2, MAX_SIGNAL_GRACE),
          onSignalLost,
          onDelivery: () => this.#renewer.start(),
          onSignalsMissed: () => void this.#renewer.renew(),
          onLost: () => this.#membership.refresh(),
          onPause: (paused) => this.#log.sawPaused(index, paused),
        }),
    );
    this.#renewer = new LeaseRenewer(context, handler.name, settings, () => this.#running());
  }

  async start(): Promise<void> {
    await this.#membership.start();
  }

  /** To be called when the broker can be reached again: looks at once, since signals may have been lost. */
  recover(): void {
    this.#membership.refresh();
    void this.#renewer.renew();
  }

  /** Sends claims that are not answered again. */
  retryClaims(): void {
    for (const partition of this.#partitions) partition.retryClaim();
  }

  get progress(): TopicProgress {
    return {
      topic: this.#options.handled.topic,
      heartbeatAt: this.#membership.answeredAt,
      unansweredSince: this.#membership.unansweredSince,
      owned: this.#partitions.map(({ progress }) => progress).filter((progress) => progress !== undefined),
    };
  }

  /** Stops the intake and hands the partitions over; handlers that run go on. */
  async leave(): Promise<void> {
    await this.#membership.stop();
    await Promise.all(this.#partitions.map((partition) => partition.release()));
    // Last, so that the others find the partitions free when they hear of it.
    await this.#membership.leave();
  }

  /** Gives back what still runs; to be called once the shutdown timeout is over. */
  releaseDeliveries(): void {
    for (const partition of this.#partitions) partition.releaseDeliveries();
  }

  /** Resolves once every outcome is confirmed. */
  async settled(): Promise<void> {
    await Promise.all(this.#partitions.map((partition) => partition.settled()));
  }

  async stop(): Promise<void> {
    await this.#renewer.stop();
    await Promise.all(this.#partitions.map((partition) => partition.close()));
  }

  get topic(): string {
    return this.#options.handled.topic;
  }

  /** Partitions that this process owns. */
  get holdings(): number[] {
    return this.#partitions.filter(({ owned }) => owned).map(({ partition }) => partition.index);
  }

  /** Deliveries whose handlers run, or wait for an earlier run of the same message to end. */
  get inFlight(): number {
    return this.#partitions.reduce((sum, { running }) => sum + running.size, 0);
  }

  /** Deliveries whose handlers run, and whose outcomes are not decided; such as `'42' of topic 'jobs' in Jobs.work`. */
  get unfinished(): string[] {
    const { handler } = this.#options;
    return this.#partitions.flatMap(({ running }) =>
      [...running.values()]
        .filter(({ settled, startedAt }) => !settled && startedAt !== undefined)
        .map(({ id }) => `'${id}' of topic '${this.topic}' in ${handler.name}`),
    );
  }

  /** Outcomes that are not confirmed yet. */
  get unsettled(): number {
    return this.#partitions.reduce((sum, { unsettled }) => sum + unsettled, 0);
  }

  async #takeShare(members: readonly Member[]): Promise<number | undefined> {
    const { member } = this.#options.context;
    const before = this.holdings.join();
    const share = new Set(assignPartitions(members, this.#partitions.length).get(member));
    const results = await Promise.allSettled(
      this.#partitions.map((partition) =>
        share.has(partition.partition.index) ? partition.hold() : partition.release(),
      ),
    );
    const { holdings } = this;
    this.#log.owns(holdings);
    // Tells the others what changed, so that they need not wait for a heartbeat.
    if (holdings.join() !== before) this.#membership.refresh();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    const retries = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
    return Math.min(...retries.filter((at) => at !== undefined));
  }

  *#running(): Generator<readonly [Partition, RunningDeliveries]> {
    for (const { partition, running } of this.#partitions) {
      if (running.size > 0) yield [partition, running];
    }
  }
}
