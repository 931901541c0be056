import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ClaimedMessage, Partition, PartitionSignal, Unsubscribe } from '../broker/broker.interface.js';
import type { Startable } from '../time/startable.interface.js';
import { DeliveryAbortedError } from '../errors/handling.errors.js';
import type { ConsumerContext } from './consumer-context.js';
import type { DeadLetterNotifier } from './dead-letter-notifier.js';
import { DeadLetterTrimmer } from './dead-letter-trimmer.js';
import { Delivery } from './delivery.js';
import type { RunningDeliveries } from './lease-renewer.js';
import { MessageDispatcher } from './message-dispatcher.js';
import type { HandlerSettings, MessageHandler } from './message-handler.interface.js';
import { PartitionClaimer } from './partition-claimer.js';
import type { PartitionProgress } from '../topics/progress.js';
import { Settler } from './settler.js';
import type { WorkerGroup } from './worker-group.js';
import type { WorkerPool } from './worker-pool.js';

export interface PartitionConsumerOptions {
  readonly context: ConsumerContext;
  readonly partition: Partition;
  readonly handler: MessageHandler;
  readonly schema: StandardSchemaV1 | undefined;
  readonly settings: HandlerSettings;
  readonly pool: WorkerPool;
  readonly group: WorkerGroup;
  readonly notifier: DeadLetterNotifier;
  /** Place of the topic among those of its handler, 0 for the first. */
  readonly priority: number;
  /** Milliseconds; see {@link Membership.session}. */
  readonly session: number;
  /** Told when a delivery has begun. */
  readonly onDelivery: () => void;
  /** How late a signal may be, in milliseconds. */
  readonly signalGrace: number;
  /** Told when something was due, and the signal that should have said so had not come. */
  readonly onSignalLost: () => void;
  /** Told when signals may have been lost while deliveries ran. */
  readonly onSignalsMissed: () => void;
  /** Told when the partition turns out to belong to another process. */
  readonly onLost: () => void;
  /** See {@link PartitionClaimerOptions.onPause}. */
  readonly onPause: (paused: boolean) => void;
}

/**
 * One partition as this process sees it: owned or not, and the deliveries made while it was. Deliveries outlive ownership:
 * a handler that runs when the partition moves on keeps its lease and settles.
 */
export class PartitionConsumer {
  readonly #options: PartitionConsumerOptions;
  readonly #settler: Settler;
  readonly #dispatcher: MessageDispatcher;
  /** What works only while the partition is owned. */
  #owned: { readonly claimer: PartitionClaimer; readonly trimmer: DeadLetterTrimmer } | undefined;
  #unsubscribe: Unsubscribe | undefined;

  constructor(options: PartitionConsumerOptions) {
    this.#options = options;
    const { context, partition, handler, schema, settings, pool, group, notifier } = options;
    this.#settler = new Settler(context, partition, (delivery, outcome) =>
      this.#dispatcher.tellSetAside(delivery, outcome),
    );
    this.#dispatcher = new MessageDispatcher({
      context,
      partition,
      handler,
      schema,
      settings,
      settler: this.#settler,
      onSlotFree: () => pool.release(group, 1),
      onDead: (delivery, outcome) => {
        this.#owned?.trimmer.trim();
        notifier.notify(delivery, outcome, settings.serializer);
      },
    });
  }

  get partition(): Partition {
    return this.#options.partition;
  }

  get owned(): boolean {
    return this.#owned !== undefined;
  }

  get running(): RunningDeliveries {
    return this.#dispatcher.running;
  }

  /** `undefined` where another process owns the partition, or none. */
  get progress(): PartitionProgress | undefined {
    return this.#owned?.claimer.progress;
  }

  /** Sends a claim that is not answered again. */
  retryClaim(): void {
    this.#owned?.claimer.retry();
  }

  /** Outcomes that are not confirmed yet. */
  get unsettled(): number {
    return this.#settler.unsettled;
  }

  /**
   * Becomes or stays the owner, if nobody else is.
   *
   * @returns when to try again where somebody else is (epoch milliseconds on the broker's clock)
   * @throws BrokerUnavailableError
   */
  async hold(): Promise<number | undefined> {
    const { context, partition, session } = this.#options;
    if (this.#owned) {
      const { owned, nextDueAt } = await context.broker.renew(partition, context.member, session);
      if (owned) {
        const { signalGrace, onSignalLost } = this.#options;
        if (nextDueAt !== undefined && this.#owned?.claimer.notice(nextDueAt, signalGrace)) onSignalLost();
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
    await this.#disown();
    await this.#options.context.broker.release(this.partition, this.#options.context.member);
  }

  /** Gives back what still runs. */
  releaseDeliveries(): void {
    this.#dispatcher.releaseAll();
  }

  /** Resolves once every outcome is confirmed or given up. */
  async settled(): Promise<void> {
    await this.#settler.idle();
  }

  /** Stops listening and settling. */
  async close(): Promise<void> {
    this.#settler.abandon();
    await this.#settler.idle();
    await this.#unsubscribe?.();
  }

  async #acquire(): Promise<number | undefined> {
    const { context, partition, handler, settings, pool, group, priority, session, onLost, onPause } = this.#options;
    // Nobody waits for it: a partition whose signals do not come has to have an owner too, who looks now and then.
    this.#unsubscribe ??= context.broker.watchPartition(
      partition,
      (signal) => this.#onSignal(signal),
      () => this.#onListening(),
    );
    const result = await context.broker.acquire(partition, context.member, session);
    if (!result.acquired) return result.retryAt;
    const claimer = new PartitionClaimer({
      context,
      partition,
      pool,
      group,
      priority,
      batch: handler.batch ?? 1,
      lease: settings.lease,
      token: result.token,
      onMessages: (messages, leaseEndsAt, slots) => this.#dispatch(messages, leaseEndsAt, slots),
      onSetAside: (stored, outcome) => {
        const { storedId, envelope, attempts, at } = stored;
        const claimed = { storedId, envelope, token: 0, attempt: attempts, dueAt: at };
        this.#dispatcher.tellSetAside(new Delivery(partition, claimed, 0), outcome);
      },
      onLost: () => void this.#disown().then(onLost),
      onPause,
    });
    const trimmer = new DeadLetterTrimmer(context, partition, settings.deadLetter);
    this.#owned = { claimer, trimmer };
    this.#announceOwnership(true);
    startAll(claimer, trimmer);
    return undefined;
  }

  async #disown(): Promise<void> {
    const owned = this.#owned;
    if (!owned) return;
    this.#owned = undefined;
    await Promise.all([owned.claimer.stop(), owned.trimmer.stop()]);
    this.#announceOwnership(false);
  }

  #dispatch(messages: readonly ClaimedMessage[], leaseEndsAt: number, slots: number): number {
    const deliveries = messages.map((message) => new Delivery(this.partition, message, leaseEndsAt));
    const used = this.#dispatcher.dispatch(deliveries, slots);
    if (deliveries.length > 0) this.#options.onDelivery();
    return used;
  }

  #onSignal(signal: PartitionSignal): void {
    if (signal.kind === 'due') {
      this.#owned?.claimer.wake(signal.at);
      return;
    }
    const delivery = this.running.get(signal.storedId);
    if (delivery?.token === signal.token) delivery.abort(new DeliveryAbortedError('CANCELLED'));
  }

  /** What was signalled before is lost: that something is due, or that a message in flight was cancelled. */
  #onListening(): void {
    this.#owned?.claimer.wake(0);
    if (this.running.size > 0) this.#options.onSignalsMissed();
  }

  #announceOwnership(owned: boolean): void {
    const { events } = this.#options.context;
    const { topic, index } = this.partition;
    if (events.wants('ownership')) events.emit('ownership', { topic, partition: index, owned });
  }
}

function startAll(...components: Startable[]): void {
  for (const component of components) void component.start();
}
