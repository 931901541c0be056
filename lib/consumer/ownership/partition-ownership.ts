import { randomBytes } from 'node:crypto';
import { type Owner, ownerOf, released, sessionOfOwner } from '../../store/fleet/owner.js';
import type { Partition } from '../../store/partition.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { Loop } from '../../time/loop.js';
import { type PartitionOwner, PartitionPipeline } from '../delivery/partition-pipeline.js';
import type { Session } from '../../fleet/session.js';
import type { TopicHandling } from '../delivery/topic-handling.js';

/** How soon to try again if taking or giving up a partition has failed, in milliseconds. */
const RETRY_PAUSE = 250;

/** How long an owner that is alive may take to release a partition before it is asked to, in milliseconds. */
const PATIENCE = 1000;

/** How often in a row another owner may be found in place of the one that was to be replaced. */
const MAX_TRIES = 3;

const EPOCH_BYTES = 8;

/** A topic of which this process takes its share. */
export interface SharedTopic extends TopicHandling {
  readonly session: Session;
  /** Called when Redis turns out to have lost data. */
  readonly onDataLost: () => void;
}

/**
 * Whether this process owns a partition: takes it as soon as its owner has let it go, keeps it at no cost, and gives it up.
 * What it does meanwhile is the partition's pipeline.
 */
export class PartitionOwnership implements PartitionOwner {
  readonly pipeline: PartitionPipeline;
  readonly #handling: SharedTopic;
  readonly #onChanged: () => void;
  readonly #moves: Loop;
  /** Whether this process is to own the partition. */
  #wanted = false;
  /** Who is to own it otherwise. */
  #heir: string | undefined;
  /** As whom this process owns it. */
  #owner: Owner | undefined;
  /** What was stored of the owner when this process saw it last. */
  #stored: Owner | undefined;
  /** As whom this process asks for it; the same until it is known what became of the asking. */
  #next: Owner | undefined;
  /** What this process has given up, and Redis has not confirmed. */
  #unconfirmed: Owner | undefined;
  /** Whether Redis may have forgotten the owner. */
  #doubted = false;
  /** The owner that was found alive at the latest tries, and when it was at the first of them. */
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

  /** Neither owns the partition nor has anything to do with it any more. */
  get isDone(): boolean {
    return (
      !this.#wanted && !this.#owner && this.#unconfirmed === undefined && this.#moves.resting && this.pipeline.isIdle
    );
  }

  /** From now on this process is to own the partition; takes it if it is free. */
  take(): void {
    this.#wanted = true;
    if (!this.#owner) this.#moves.poke();
  }

  /** Looks again whether the partition is free, if this process waits for it. */
  retry(): void {
    if (this.#wanted && !this.#owner) this.#moves.poke();
  }

  /**
   * Its owner has told that it released the partition: takes it, if this process waits for it. One that still seems to have it may have been
   * replaced without noticing, and looks.
   */
  freed(): void {
    if (this.#owner) return this.verify();
    if (!this.#wanted) return;
    // A guess saves a call: if it is wrong, the answer to the next one is what is stored.
    if (this.#stored !== undefined) this.#stored = released(this.#stored);
    this.#moves.poke();
  }

  /**
   * From now on this process is not to own the partition. Handlers that run go on.
   *
   * @param heir the session that is to own it; `undefined`: nobody need be told
   */
  giveUp(heir?: string): void {
    this.#wanted = false;
    this.#heir = heir;
    if (this.#owner) this.#moves.poke();
  }

  /** Looks whether the partition is still stored as this process's. */
  verify(): void {
    if (!this.#owner) return;
    this.#doubted = true;
    this.#moves.poke();
  }

  /**
   * Releases what is stored as owned by this process if it does not own it: the release was lost.
   *
   * @param owner what is stored
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
    // Nobody removes an owner: Redis has lost it, and perhaps more of the topic.
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

  /** Ends everything; what is owned stays so until the session ends. */
  async close(): Promise<void> {
    await Promise.all([this.#moves.stop(), this.pipeline.close()]);
  }

  /** @returns when to try again, in milliseconds */
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
      // An owner that lives is never replaced: with nothing to replace, the broker answers what is stored by now.
      const replaces = this.#livingHolderOf(this.#stored) === undefined ? this.#stored : undefined;
      const result = await context.broker.fleet.acquire(this.pipeline.partition, this.#next, replaces);
      if (result.acquired) return this.#own(this.#next);
      this.#meet(result.owner);
      const holder = this.#livingHolderOf(result.owner);
      if (holder !== undefined) return this.#askFor(result.owner as Owner, holder);
    }
  }

  /** Whoever has taken the partition since this process looked last is alive, whatever it knew of them before. */
  #meet(owner: Owner | undefined): void {
    const before = this.#stored;
    this.#stored = owner;
    if (before === undefined || owner === undefined || released(owner) === released(before)) return;
    const holder = sessionOfOwner(owner);
    if (holder !== undefined) this.#handling.session.hasTaken(holder);
  }

  /** The other process that owns the partition, if its session has not ended. */
  #livingHolderOf(owner: Owner | undefined): string | undefined {
    const { session } = this.#handling;
    const holder = sessionOfOwner(owner);
    return holder === undefined || holder === session.id || session.hasEnded(holder) ? undefined : holder;
  }

  /** An owner that is alive releases the partition by itself, once it has seen who is to own it. One that does not has not seen it. */
  async #askFor(owner: Owner, holder: string): Promise<void> {
    const { context, session } = this.#handling;
    const now = context.clock.now();
    if (this.#met?.owner !== owner) this.#met = { owner, at: now };
    else if (now - this.#met.at >= PATIENCE) await session.askFor(this.pipeline.partition, owner, holder);
  }

  #own(owner: Owner): void {
    // Whoever closes it while the answer is on its way has ended the pipeline, and the partition waits for the session to end.
    if (this.#moves.stopped) return;
    this.#next = undefined;
    this.#met = undefined;
    this.#handling.log.canMove();
    this.#stored = owner;
    this.#doubted = false;
    if (!this.#wanted) {
      // Given up meanwhile: nothing is claimed any more.
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
