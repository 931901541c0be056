import type { TopicLimits } from '../../store/deliveries/limits.js';
import type { Owner } from '../../store/fleet/owner.js';
import { assignPartitions } from '../../fleet/assign-partitions.js';
import { quoted } from '../../log.js';
import { within } from '../../time/deadline.js';
import { Loop } from '../../time/loop.js';
import type { HandlerSettings } from '../message-handler.interface.js';
import type { PartitionProgress, TopicProgress } from '../../fleet/progress.js';
import { PartitionOwnership, type SharedTopic } from './partition-ownership.js';
import type { PartitionPipeline } from '../delivery/partition-pipeline.js';
import type { TakenDeliveries } from '../delivery/taken-deliveries.js';

/** Time to wait for partitions that move before logging which ones this process owns, in milliseconds. */
const PATIENCE = 2000;

/** Consumes one topic: holds this process's share of its partitions as other processes come and go. */
export class TopicConsumer {
  /** Number of partitions of the topic. */
  readonly partitions: number;
  readonly #handling: SharedTopic;
  /** Ownerships of the partitions that this process owns or is to own, and of those whose last messages it still handles. */
  readonly #ownerships = new Map<number, PartitionOwnership>();
  readonly #tellings: Loop;
  /** Processes among which the partitions were shared last. */
  #fleet: readonly object[] | undefined;
  #left = false;

  constructor(handling: SharedTopic, partitions: number) {
    this.#handling = handling;
    this.partitions = partitions;
    this.#tellings = new Loop({ clock: handling.context.clock, run: () => this.#tellShare() });
  }

  get topic(): string {
    return this.#handling.handled.topic;
  }

  /** Settings for handling its messages here. */
  get settings(): HandlerSettings {
    return this.#handling.handled.settings;
  }

  /** Partitions that this process owns, ascending. */
  get holdings(): number[] {
    const owned = [...this.#ownerships].filter(([, ownership]) => ownership.owned);
    return owned.map(([index]) => index).toSorted((a, b) => a - b);
  }

  get progress(): TopicProgress {
    const owned = this.#pipelines.map((pipeline): PartitionProgress | undefined => pipeline.progress);
    return {
      topic: this.topic,
      owned: owned.filter((one) => one !== undefined),
      stopped: !this.#handling.session.handles(this.topic),
      handling: this.#pipelines.reduce((sum, { run }) => sum + run.running.unsettled.length, 0),
      abandoned: this.#handling.abandoned.count(this.topic),
      limitedSince: this.#handling.admission.limitedSince,
      starvedSince: this.#handling.admission.starvedSince,
    };
  }

  /** Deliveries whose handlers run and whose outcomes are not decided, such as `'42' of topic 'jobs' in Jobs.work`. */
  get unfinished(): string[] {
    return this.#pipelines.flatMap(({ run: { running } }) =>
      [...running]
        .filter(({ settled, startedAt }) => !settled && startedAt !== undefined)
        .map(({ id }) => `${quoted(id)} of topic '${this.topic}' in ${this.#handling.handler.name}`),
    );
  }

  /** Number of handler calls with a delivery that is not decided yet. */
  get calls(): number {
    const calls = this.#pipelines.flatMap(({ run: { running } }) => running.unsettled.map(({ call }) => call));
    return new Set(calls.filter((call) => call !== undefined)).size;
  }

  /** Number of outcomes that are not confirmed yet. */
  get unsettled(): number {
    return this.#pipelines.reduce((sum, { unsettled }) => sum + unsettled, 0);
  }

  /** Number of outcomes that wait until Redis has room. */
  get waitingForRoom(): number {
    return this.#pipelines.reduce((sum, { waitingForRoom }) => sum + waitingForRoom, 0);
  }

  /** Compares what this process holds with its share, and begins to take and to give up what differs. */
  takeShare(): void {
    if (this.#left) return;
    const { session, topics } = this.#handling;
    if (session.live !== this.#fleet) {
      this.#fleet = session.live;
      const handlers = session.handlersOf(this.topic, topics.knownProtocol(this.topic));
      const owners = handlers.length > 0 ? assignPartitions(this.topic, this.partitions, handlers) : [];
      for (let index = 0; index < this.partitions; index++) {
        if (owners[index] === session.id) this.#ownership(index).take();
        else this.#ownerships.get(index)?.giveUp(owners[index]);
      }
      this.#tellings.poke();
    } else {
      for (const ownership of this.#ownerships.values()) ownership.retry();
    }
    this.#dropDone();
  }

  /** Resolves once {@link takeShare} has taken effect; an unreachable partition does not delay it for long. */
  async shared(): Promise<void> {
    await this.#tellShare();
  }

  /** Takes a partition that was released, if this process is to own it. */
  released(index: number): void {
    this.#ownerships.get(index)?.freed();
  }

  /** Checks whether Redis still has the owners of the partitions, since it has lost other data. */
  verify(): void {
    for (const ownership of this.#ownerships.values()) ownership.verify();
  }

  /** Applies new limits from now on. */
  changeLimits(limits: TopicLimits | undefined): void {
    this.#handling.admission.changeLimits(limits);
    for (const pipeline of this.#pipelines) pipeline.lookAgain();
  }

  /** Looks for permits again: there may be some for this process, or others wait for those that it has. */
  permitsMoved(): void {
    this.#handling.admission.permitsMoved();
  }

  /** Returns the taken deliveries of a partition, whichever process owns it. */
  takenOf(index: number): TakenDeliveries {
    return this.#ownership(index).pipeline.taken;
  }

  /** Applies a lease that another process has changed by using a receipt. */
  leaseChanged(index: number, token: string, lease: number): void {
    const taken = this.#ownerships.get(index)?.pipeline.taken;
    const delivery = taken?.find({ token });
    if (delivery) taken?.lasts(delivery, this.#handling.context.clock.now() + lease);
  }

  /** Handles another process's request for a partition that is stored as this one's. */
  async wanted(index: number, owner: Owner): Promise<void> {
    if (index < this.partitions) await this.#ownership(index).disclaim(owner);
  }

  /** Renews leases when the broker is reachable again: signals may have been lost. */
  recover(): void {
    for (const pipeline of this.#pipelines) pipeline.renewLeases();
  }

  /** Looks into the partitions of this process: signals may have been lost. */
  lookAgain(): void {
    for (const pipeline of this.#pipelines) pipeline.missedSignals();
  }

  /** Sends unanswered claims again. */
  retryClaims(): void {
    for (const pipeline of this.#pipelines) pipeline.retryClaim();
  }

  /** Stops the intake and hands the partitions over; running handlers go on. */
  async leave(): Promise<void> {
    this.#left = true;
    for (const ownership of this.#ownerships.values()) ownership.giveUp();
    await this.moved();
    this.#handling.admission.leave();
  }

  /** Resolves once no partition is being taken or given up. Nothing is claimed any more from those given up by then. */
  async moved(): Promise<void> {
    await Promise.all(Array.from(this.#ownerships.values(), (ownership) => ownership.settled()));
  }

  /** Resolves once no delivery is undecided. */
  async decided(): Promise<void> {
    await Promise.all(this.#pipelines.map((pipeline) => pipeline.run.decided()));
  }

  /** Gives back the deliveries that still run; call this once the shutdown timeout is over. */
  releaseDeliveries(): void {
    for (const pipeline of this.#pipelines) pipeline.run.releaseAll();
  }

  /** Resolves once every outcome is confirmed. */
  async settled(): Promise<void> {
    await Promise.all(this.#pipelines.map((pipeline) => pipeline.allSettled()));
  }

  async stop(): Promise<void> {
    this.#left = true;
    await Promise.all([
      this.#tellings.stop(),
      this.#handling.admission.stop(),
      ...Array.from(this.#ownerships.values(), (ownership) => ownership.close()),
    ]);
  }

  get #pipelines(): PartitionPipeline[] {
    return Array.from(this.#ownerships.values(), ({ pipeline }) => pipeline);
  }

  #ownership(index: number): PartitionOwnership {
    let ownership = this.#ownerships.get(index);
    if (!ownership) {
      const partition = { topic: this.topic, index };
      ownership = new PartitionOwnership(this.#handling, partition, () => this.#tellings.poke());
      this.#ownerships.set(index, ownership);
    }
    return ownership;
  }

  async #tellShare(): Promise<void> {
    await within(this.#handling.context.clock, PATIENCE, this.moved()).catch(() => {});
    // During a shutdown it will soon own nothing, which needs no log line.
    if (!this.#left) this.#handling.log.owns(this.holdings);
  }

  #dropDone(): void {
    for (const [index, ownership] of this.#ownerships) {
      if (!ownership.isDone) continue;
      this.#ownerships.delete(index);
      void ownership.close();
    }
  }
}
