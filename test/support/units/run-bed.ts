import type { DeliveryStore } from '../../../lib/store/deliveries/delivery-store.js';
import type { TopicLimits } from '../../../lib/store/deliveries/limits.js';
import type { MessageStore } from '../../../lib/store/messages/message-store.js';
import { tokenOf } from '../../../lib/store/deliveries/receipt.js';
import type { Outcome, Settlement } from '../../../lib/store/deliveries/settle.js';
import { ownerOf } from '../../../lib/store/fleet/owner.js';
import type { PartitionSignal } from '../../../lib/store/fleet/signals.js';
import type { TopicOrder } from '../../../lib/store/fleet/topic-config.js';
import type { AbandonedCalls } from '../../../lib/consumer/delivery/abandoned-calls.js';
import { Delivery } from '../../../lib/consumer/delivery/delivery.js';
import { HandlerSlots, SlotPool } from '../../../lib/consumer/admission/handler-slots.js';
import type { HandlerSettings, MessageHandler } from '../../../lib/consumer/message-handler.interface.js';
import { PartitionPipeline } from '../../../lib/consumer/delivery/partition-pipeline.js';
import type { QueueEvents } from '../../../lib/events/queue-events.interface.js';
import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import { type EnvelopeFields, encodeEnvelope } from '../../../lib/messages/envelope.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { fakeBroker } from './fake-broker.js';
import { LEASE, testContext, testHandling } from './handling.js';
import { turns } from './test-claimant.js';

const PARTITION = { topic: 'jobs', index: 0 };

/** A call of the handler, which ends when the test says so. */
export interface BedCall {
  readonly messages: readonly DelayedMessage[];
  readonly ids: readonly string[];
  resolve(result?: unknown): void;
  reject(error: unknown): void;
}

export interface BenchOptions {
  readonly batch?: number | undefined;
  readonly settings?: Partial<HandlerSettings>;
  /** In place of the calls that end when the test says so. */
  readonly handle?: MessageHandler['handle'];
  /** Slots that are free, for what waits for one. */
  readonly free?: number;
  readonly limits?: TopicLimits;
  readonly order?: TopicOrder;
  /** Whether receivers settle the messages. */
  readonly settlesEach?: boolean;
}

/** The run of one partition; the test claims, handles, and sees what is settled. */
export class RunBed {
  readonly clock = new ManualClock();
  readonly calls: BedCall[] = [];
  readonly events: [kind: keyof QueueEvents, id: unknown][] = [];
  readonly warnings: string[] = [];
  /** Claims and settles, in the order in which they were sent. */
  readonly sent: ('claim' | 'settle')[] = [];
  readonly pipeline: PartitionPipeline;
  readonly abandoned: AbandonedCalls;
  /** If there is one, what each settle waits for until it is answered. */
  untilAnswered: Promise<void> | undefined;
  /** Called before each call of the handler. */
  onCall = (): void => {};
  slotsFree = 0;
  /** Answers a look at what is stored; the run looks before it declares a message crashed. */
  lookUp: MessageStore['get'] = async () => undefined;
  extend: DeliveryStore['extend'] = async (_partition, _lease, receipts) => receipts.map(() => 'extended');
  /** How often dead letters were trimmed, and when the next one expires. */
  trims = 0;
  trimmed: number | undefined;
  /** Has the run hear a signal. */
  signal: (signal: PartitionSignal) => void = () => {};
  readonly settlements: Settlement[] = [];
  /** The holds that the first partition was told of, in milliseconds. */
  readonly holds: number[] = [];
  #deliveries = 0;

  constructor({
    free = 1000,
    handle = async (messages) => this.#call(messages),
    order,
    settlesEach,
    ...given
  }: BenchOptions = {}) {
    const broker = fakeBroker({
      onClockStep: () => () => {},
      now: () => this.clock.now(),
      watchPartition: (_partition, listener) => {
        this.signal = listener;
        return async () => {};
      },
      deliveries: {
        claim: async (_partition, { succeeded = [] }) => {
          this.sent.push('claim');
          this.settlements.push(...succeeded.map((receipt) => ({ ...receipt, outcome: { kind: 'ack' } as const })));
          return {
            ended: succeeded.map(() => 'settled'),
            status: 'claimed',
            messages: [],
            delivered: 0,
            nextAt: undefined,
            repaired: 0,
            heldBack: false,
            keepsFinished: false,
          };
        },
        settle: async (_partition, _call, settlements) => {
          this.sent.push('settle');
          if (this.untilAnswered) await this.untilAnswered;
          this.settlements.push(...settlements);
          return settlements.map(() => 'settled');
        },
        extend: async (...call) => this.extend(...call),
        hold: async ({ index }, _call, delay) => {
          if (index === 0) this.holds.push(delay);
          return this.clock.now() + delay;
        },
        permit: async (_topic, { wanted: permitted, held }) => ({
          permitted,
          permittedAt: 0,
          begins: undefined,
          keep: undefined,
          wait: undefined,
          held: held + permitted,
          sessions: [],
        }),
      },
      messages: {
        get: async (partition, storedId) => this.lookUp(partition, storedId),
      },
      deadLetters: {
        trimDead: async () => {
          this.trims++;
          return this.trimmed;
        },
      },
    });
    const context = testContext({
      broker,
      clock: this.clock,
      log: { log: () => {}, warn: (line) => void this.warnings.push(line), error: () => {} },
      events: { wants: () => true, emit: (kind, event) => this.events.push([kind, 'id' in event && event.id]) },
    });
    const slots = new HandlerSlots(new SlotPool(free), free);
    slots.release = (count) => void (this.slotsFree += count);
    const handling = testHandling({ context, slots, handle, ...given });
    if (order) handling.topics.knownOrder = () => order;
    if (settlesEach) Object.assign(handling.destination, { settlesEach });
    this.abandoned = handling.abandoned;
    this.pipeline = new PartitionPipeline(handling, PARTITION);
  }

  /** From now on the process owns the partition, in which nothing is due, and hears its signals. */
  own(): void {
    this.pipeline.start({ lost: () => {} }, ownerOf('epoch', 'me'));
  }

  /** A delivery as a claim made it just now; due now, unless something else is said. */
  delivery(
    id: string,
    {
      attempt = 1,
      number = attempt,
      late = 0,
      ...fields
    }: { attempt?: number; number?: number; late?: number } & Partial<EnvelopeFields> = {},
  ): Delivery {
    const now = this.clock.now();
    const envelope = encodeEnvelope({ payload: `payload of ${id}`, publishedAt: now, ...fields });
    const claimed = {
      storedId: id,
      envelope,
      token: tokenOf('epoch', ++this.#deliveries),
      delivery: number,
      attempt,
      weight: 0,
      dueAt: now - late,
    };
    return new Delivery(PARTITION, claimed, now + LEASE);
  }

  /** Has the run take deliveries of these ids; answers how many slots it uses. */
  take(...ids: string[]): number {
    return this.hand(...ids.map((id) => this.delivery(id)));
  }

  /** Has the run take deliveries; answers how many slots it uses. */
  hand(...deliveries: Delivery[]): number {
    return this.pipeline.take(deliveries, deliveries.length);
  }

  /** Ids of the messages that run. */
  get running(): string[] {
    return Array.from(this.pipeline.run.running, ({ storedId }) => storedId);
  }

  /** Ids of the messages of each call so far. */
  get called(): (readonly string[])[] {
    return this.calls.map(({ ids }) => ids);
  }

  call(index: number): BedCall {
    const call = this.calls[index];
    if (!call) throw new Error(`There were ${this.calls.length} calls.`);
    return call;
  }

  /** What became of each message so far, in the order of the settles. */
  async outcomes(): Promise<[id: string, outcome: Outcome['kind']][]> {
    await turns(3);
    return this.settlements.map(({ storedId, outcome }) => [storedId, outcome.kind]);
  }

  /** The failure that was settled last for a message. */
  async failureOf(id: string): Promise<unknown> {
    await turns(3);
    const outcome = this.settlements.findLast(({ storedId }) => storedId === id)?.outcome;
    return outcome && 'failure' in outcome ? outcome.failure : undefined;
  }

  async #call(messages: readonly DelayedMessage[]): Promise<unknown> {
    this.onCall();
    return new Promise((resolve, reject) => {
      this.calls.push({ messages, ids: messages.map(({ id }) => id), resolve, reject });
    });
  }
}
