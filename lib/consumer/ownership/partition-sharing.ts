import type { Owner } from '../../store/fleet/owner.js';
import type { Partition } from '../../store/partition.js';
import type { FleetMember } from '../../fleet/fleet-member.interface.js';
import { Session } from '../../fleet/session.js';
import type { ProcessReporter } from '../../fleet/process-reporter.js';
import { Loop } from '../../time/loop.js';
import type { Startable } from '../../time/startable.interface.js';
import type { TopicRegistry } from '../../fleet/topic.registry.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { TopicConsumer } from './topic-consumer.js';

/** Time after which other work of the process gets its turn, in milliseconds. */
const SLICE = 10;

export interface PartitionSharingOptions {
  readonly context: ConsumerContext;
  readonly registry: TopicRegistry;
  /** Milliseconds. */
  readonly heartbeat: number;
  readonly reporter: Pick<ProcessReporter, 'poke' | 'forgotten'>;
  /** Called when a receipt was used elsewhere: its delivery lasts for `lease` milliseconds from now on; 0 if it has ended. */
  readonly leaseChanged: (token: string, lease: number) => void;
  /** Called when Redis has lost data. */
  readonly onDataLost: () => void;
}

/** Shares the partitions of all topics with the other processes of the fleet, as this process's session sees them. */
export class PartitionSharing implements Startable, FleetMember {
  readonly session: Session;
  readonly #options: PartitionSharingOptions;
  readonly #consumers = new Map<string, TopicConsumer>();
  /** Topics that this process takes part in. */
  readonly #topics = new Set<string>();
  /** Consumers that have begun to take their shares. */
  readonly #sharing = new Set<TopicConsumer>();
  readonly #shares: Loop;
  #hasShared = false;
  #starting: Promise<void> | undefined;

  constructor(options: PartitionSharingOptions) {
    this.#options = options;
    const { context, heartbeat } = options;
    const { broker, clock, log, events, session: id } = context;
    this.#shares = new Loop({ clock, run: () => this.#shareAll() });
    this.session = new Session({ broker, clock, log, events, id, heartbeat, topics: [], member: this });
  }

  get consumers(): TopicConsumer[] {
    return [...this.#consumers.values()];
  }

  /** Returns `undefined` before the topic's number of partitions is known. */
  consumerOf(topic: string): TopicConsumer | undefined {
    return this.#consumers.get(topic);
  }

  /** Adds a topic whose partitions are shared from now on. */
  add(consumer: TopicConsumer): void {
    this.#consumers.set(consumer.topic, consumer);
    if (this.#hasShared) this.#join(consumer);
  }

  /**
   * Joins the fleet; resolves once this process has its share of the partitions that are free and can be reached.
   *
   * @param order lists of topics; those of one list take their shares one after the other
   */
  async start(order: readonly (readonly string[])[] = []): Promise<void> {
    this.#starting ??= this.#start(order);
    await this.#starting;
  }

  async #start(order: readonly (readonly string[])[]): Promise<void> {
    await this.session.start();
    await Promise.all(order.map(async (topics) => this.#takeInOrder(topics)));
    this.#hasShared = true;
    for (const consumer of this.consumers) this.#sharing.add(consumer);
    this.share();
  }

  async #takeInOrder(topics: readonly string[]): Promise<void> {
    for (const topic of topics) {
      const consumer = this.#consumers.get(topic);
      if (!consumer) continue;
      this.#join(consumer);
      await consumer.shared();
    }
  }

  #join(consumer: TopicConsumer): void {
    this.#sharing.add(consumer);
    consumer.takeShare();
  }

  /**
   * Makes this process take part in these topics too, and begins to take partitions at once. Resolves once the others have been told, or
   * telling them has failed.
   */
  async begin(topics: readonly string[]): Promise<void> {
    for (const topic of topics) this.#topics.add(topic);
    await this.#turn(topics);
  }

  /** Ends this process's part in these topics: it gives their partitions up. */
  async end(topics: readonly string[]): Promise<void> {
    for (const topic of topics) this.#topics.delete(topic);
    await this.#turn(topics);
  }

  async #turn(changed: readonly string[]): Promise<void> {
    const told = this.session.handle([...this.#topics]);
    for (const topic of changed) {
      const consumer = this.#consumers.get(topic);
      if (consumer && this.#sharing.has(consumer)) consumer.takeShare();
    }
    await told;
  }

  /** Works while this process starts, too: a partition that becomes free for it must not wait for the end of the start. */
  share(): void {
    const { registry } = this.#options;
    this.#restoreTopics(registry.fleetIs(this.session.agreement));
    if (this.#sharing.size > 0) this.#shares.poke();
  }

  report(): void {
    this.#options.reporter.poke();
  }

  released(partitions: readonly Partition[]): void {
    for (const { topic, index } of partitions) this.#consumers.get(topic)?.released(index);
  }

  restore(): void {
    const { registry, onDataLost } = this.#options;
    this.verify();
    onDataLost();
    this.#restoreTopics(registry.known.keys());
  }

  verify(): void {
    this.#options.reporter.forgotten();
    for (const consumer of this.#consumers.values()) consumer.verify();
  }

  lookAgain(): void {
    for (const consumer of this.#consumers.values()) consumer.lookAgain();
  }

  wanted({ topic, index }: Partition, owner: Owner): void {
    const consumer = this.#consumers.get(topic);
    consumer?.wanted(index, owner).catch((error: unknown) => this.#tellError(topic, error));
  }

  permitsMoved(topic: string): void {
    this.#consumers.get(topic)?.permitsMoved();
  }

  leaseChanged({ topic, index }: Partition, token: string, lease: number): void {
    this.#options.leaseChanged(token, lease);
    this.#consumers.get(topic)?.leaseChanged(index, token, lease);
  }

  limitsChanged(topic?: string): void {
    const topics =
      topic === undefined ? [...this.#consumers.keys()] : [topic].filter((one) => this.#consumers.has(one));
    this.#relearnLimits(topics).catch((error: unknown) => this.#tellError(topic, error));
  }

  /** Ends the heartbeats. */
  async stop(): Promise<void> {
    this.#hasShared = false;
    this.#sharing.clear();
    await Promise.all([this.session.stop(), this.#shares.stop()]);
  }

  /**
   * Stops the intake, hands the partitions over, and tells the others.
   *
   * @throws BrokerUnavailableError
   */
  async leave(): Promise<void> {
    await this.stop();
    await Promise.all(this.consumers.map((consumer) => consumer.leave()));
    await this.session.leave();
  }

  /** Takes the shares of many topics a few at a time, so that nothing else in this process waits for all of them. */
  async #shareAll(): Promise<void> {
    const { clock } = this.#options.context;
    let begunAt = clock.now();
    for (const consumer of this.#sharing) {
      if (clock.now() - begunAt > SLICE) {
        await new Promise((resolve) => setImmediate(resolve));
        begunAt = clock.now();
      }
      if (this.#sharing.has(consumer)) consumer.takeShare();
    }
  }

  #restoreTopics(topics: Iterable<string>): void {
    for (const topic of topics) {
      this.#options.registry.restore(topic).catch((error: unknown) => this.#tellError(topic, error));
    }
  }

  async #relearnLimits(topics: readonly string[]): Promise<void> {
    const { registry, context } = this.#options;
    for (const { topic, limits, text } of await registry.relearnTerms(topics)) {
      context.log.log(`The limits of topic '${topic}' are ${text}`);
      this.#consumers.get(topic)?.changeLimits(limits);
    }
  }

  #tellError(topic: string | undefined, error: unknown): void {
    const about = topic === undefined ? {} : { topic };
    this.#options.context.events.emit('errors', { source: 'membership', ...about, error });
  }
}
