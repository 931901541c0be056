import { randomBytes } from 'node:crypto';
import { type Owner, ownerOf, released, sessionOfOwner } from '../../store/fleet/owner.js';
import type { Partition } from '../../store/partition.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { Loop } from '../../time/loop.js';
import { type PartitionOwner, PartitionPipeline } from '../delivery/partition-pipeline.js';
import type { Session } from '../../fleet/session.js';
import type { TopicHandling } from '../delivery/topic-handling.js';

/** Pause before the next try after taking or giving up a partition has failed, in milliseconds. */
const RETRY_PAUSE = 250;

/** Time that a live owner has to release a partition before it is asked to, in milliseconds. */
const PATIENCE = 1000;

/** Most consecutive tries that find another owner in place of the one to replace. */
const MAX_TRIES = 3;

const EPOCH_BYTES = 8;

/** A topic whose partitions this process shares with others. */
export interface SharedTopic extends TopicHandling {
  readonly session: Session;
  /** Called when Redis has lost data. */
  readonly onDataLost: () => void;
}

/**
 * Manages this process's ownership of a partition: takes it as soon as its owner has released it, keeps it at no cost, and gives it up. The
 * partition's pipeline does the work in between.
 */
export class PartitionOwnership implements PartitionOwner {
  readonly pipeline: PartitionPipeline;
  readonly #handling: SharedTopic;
  readonly #onChanged: () => void;
  readonly #moves: Loop;
  /** Whether this process is to own the partition. */
  #wanted = false;
  /** Session that is to own it otherwise. */
  #heir: string | undefined;
  /** Identity under which this process owns it. */
  #owner: Owner | undefined;
  /** Stored owner as this process saw it last. */
  #stored: Owner | undefined;
  /** Identity under which this process requests it; the same until the outcome of the request is known. */
  #next: Owner | undefined;
  /** Ownership that this process has given up and Redis has not confirmed as released. */
  #unconfirmed: Owner | undefined;
  /** Whether Redis may have forgotten the owner. */
  #doubted = false;
  /** Owner that was found alive at the latest tries, with the time of the first of them, or when it was asked last. */
  #met: { readonly owner: Owner; readonly at: number } | undefined;

  /** @param onChanged called when this process has taken or lost the partition */
  constructor(handling: SharedTopic, partition: Partition, onChanged: () => void) {
    this.#handling = handling;
    this.#onChanged = onChanged;
    this.pipeline = new PartitionPipeline(handling, partition);
    this.#moves = new Loop({ clock: handling.context.clock, run: () => this.#move() });
  }

  get owned(): boolean {
    return this.#owner !== undefined;
  }

  /** Whether this process neither owns the partition nor has anything left to do for it. */
  get isDone(): boolean {
    return (
      !this.#wanted && !this.#owner && this.#unconfirmed === undefined && this.#moves.resting && this.pipeline.isIdle
    );
  }

  /** Makes this process the partition's intended owner; takes it if it is free. */
  take(): void {
    this.#wanted = true;
    if (!this.#owner) this.#moves.poke();
  }

  /** Looks again whether the partition is free, if this process waits for it. */
  retry(): void {
    if (this.#wanted && !this.#owner) this.#moves.poke();
  }

  /**
   * Handles the owner's signal that it has released the partition: takes it, if this process waits for it. If this process still seems to
   * own it, it may have been replaced without noticing, and checks.
   */
  freed(): void {
    if (this.#owner) return this.verify();
    if (!this.#wanted) return;
    // A guess saves a call: if it is wrong, the answer to the next call shows the stored owner.
    if (this.#stored !== undefined) this.#stored = released(this.#stored);
    this.#moves.poke();
  }

  /**
   * Gives the partition up, or stops waiting for it. Running handlers go on.
   *
   * @param heir session that is to own it; `undefined` if none needs to be told
   */
  giveUp(heir?: string): void {
    this.#wanted = false;
    this.#heir = heir;
    if (this.#owner) this.#moves.poke();
  }

  /** Checks whether the partition is still stored as this process's. */
  verify(): void {
    if (!this.#owner) return;
    this.#doubted = true;
    this.#moves.poke();
  }

  /**
   * Releases a partition that is stored as this process's although it does not own it: the release was lost.
   *
   * @param owner stored owner
   */
  async disclaim(owner: Owner): Promise<void> {
    const { context, session } = this.#handling;
    if (owner === this.#owner || owner === this.#next || sessionOfOwner(owner) !== session.id) return;
    await context.broker.fleet.release(this.pipeline.partition, owner);
    if (this.#heir !== undefined) session.tellReleased(this.#heir, this.pipeline.partition);
  }

  lost(owner: Owner | undefined): void {
    this.#meet(owner);
    const { topics, handled, onDataLost } = this.#handling;
    // No process removes an owner: Redis has lost it, and perhaps more of the topic.
    if (owner === undefined) {
      void topics.restore(handled.topic).catch((error: unknown) => this.#tellError(error));
      onDataLost();
    }
    void this.#disown().then(() => this.retry());
  }

  /** Resolves once nothing is under way. */
  async settled(): Promise<void> {
    await this.#moves.idle();
  }

  /** Stops the moves and the pipeline; an owned partition stays owned until the session ends. */
  async close(): Promise<void> {
    await Promise.all([this.#moves.stop(), this.pipeline.close()]);
  }

  /** @returns time until the next try, in milliseconds */
  async #move(): Promise<number | undefined> {
    try {
      if (this.#unconfirmed !== undefined) await this.#release(this.#unconfirmed);
      else if (!this.#wanted) await this.#letGo();
      else if (!this.#owner) await this.#acquire();
      else if (this.#doubted) await this.#assertStored(this.#owner);
      return undefined;
    } catch (error) {
      this.#tellError(error);
      return RETRY_PAUSE;
    }
  }

  #tellError(error: unknown): void {
    const { context, log } = this.#handling;
    const { topic, index: partition } = this.pipeline.partition;
    context.events.emit('errors', { source: 'membership', topic, partition, error });
    if (error instanceof BrokerUnavailableError) log.cannotMove(error.message);
    else context.log.error(`Taking or giving up a partition of topic '${topic}' failed`, (error as Error).stack);
  }

  async #acquire(): Promise<void> {
    const { context, session } = this.#handling;
    for (let tries = 0; tries < MAX_TRIES && this.#wanted; tries++) {
      this.#next ??= ownerOf(randomBytes(EPOCH_BYTES).toString('base64url'), session.id);
      // A live owner is never replaced: with nothing to replace, the broker answers with the stored owner.
      const replaces = this.#livingHolderOf(this.#stored) === undefined ? this.#stored : undefined;
      const result = await context.broker.fleet.acquire(this.pipeline.partition, this.#next, replaces);
      if (result.acquired) return this.#own(this.#next);
      this.#meet(result.owner);
      const holder = this.#livingHolderOf(result.owner);
      if (holder !== undefined) return this.#askFor(result.owner as Owner, holder);
    }
  }

  /** Notes the stored owner. One that has taken the partition since the last look is alive, whatever this process knew of it before. */
  #meet(owner: Owner | undefined): void {
    const before = this.#stored;
    this.#stored = owner;
    if (before === undefined || owner === undefined || released(owner) === released(before)) return;
    const holder = sessionOfOwner(owner);
    if (holder !== undefined) this.#handling.session.hasTaken(holder);
  }

  /** Returns the session of the other process that owns the partition, if it has not ended. */
  #livingHolderOf(owner: Owner | undefined): string | undefined {
    const { session } = this.#handling;
    const holder = sessionOfOwner(owner);
    return holder === undefined || holder === session.id || session.hasEnded(holder) ? undefined : holder;
  }

  /**
   * Asks a live owner for the partition if it does not release it in time. It would by itself once it has seen which process is to own it.
   */
  async #askFor(owner: Owner, holder: string): Promise<void> {
    const { context, session } = this.#handling;
    const now = context.clock.now();
    const isNew = this.#met?.owner !== owner;
    if (this.#met && !isNew && now - this.#met.at < PATIENCE) return;
    // Who is asked looks at the fleet, and asks in return if it takes the other one's partitions for its own: two that go by different
    // protocols would do nothing else.
    this.#met = { owner, at: now };
    if (!isNew) await session.askFor(this.pipeline.partition, owner, holder);
  }

  #own(owner: Owner): void {
    // If it was closed while the answer was on its way, the pipeline has ended, and the partition waits for the session to end.
    if (this.#moves.stopped) return;
    this.#next = undefined;
    this.#met = undefined;
    this.#handling.log.canMove();
    this.#stored = owner;
    this.#doubted = false;
    if (!this.#wanted) {
      // Given up meanwhile, so it must not claim.
      this.#unconfirmed = owner;
      return this.#moves.poke();
    }
    this.#owner = owner;
    this.#announce(true);
    this.pipeline.start(this, owner);
  }

  async #letGo(): Promise<void> {
    const owner = this.#owner;
    if (owner === undefined) return;
    await this.#disown();
    this.#unconfirmed = owner;
    await this.#release(owner);
  }

  async #release(owner: Owner): Promise<void> {
    const { context, session } = this.#handling;
    await context.broker.fleet.release(this.pipeline.partition, owner);
    this.#unconfirmed = undefined;
    this.#stored = released(owner);
    if (this.#heir !== undefined) session.tellReleased(this.#heir, this.pipeline.partition);
    if (this.#wanted) this.#moves.poke();
  }

  async #assertStored(owner: Owner): Promise<void> {
    const result = await this.#handling.context.broker.fleet.acquire(this.pipeline.partition, owner, undefined);
    this.#doubted = false;
    if (!result.acquired && owner === this.#owner) this.lost(result.owner);
  }

  async #disown(): Promise<void> {
    if (!this.#owner) return;
    this.#owner = undefined;
    await this.pipeline.stop();
    this.#announce(false);
  }

  #announce(owned: boolean): void {
    const { context } = this.#handling;
    const { topic, index } = this.pipeline.partition;
    this.#onChanged();
    if (context.events.wants('ownership')) context.events.emit('ownership', { topic, partition: index, owned });
  }
}
