import type { Broker, Outcome, Settlement } from '../../../lib/broker/broker.interface.js';
import { ManualClock } from '../../../lib/time/manual-clock.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import { Delivery } from '../../../lib/consumer/delivery.js';
import { MessageDispatcher } from '../../../lib/consumer/message-dispatcher.js';
import type { HandlerSettings } from '../../../lib/consumer/message-handler.interface.js';
import { Settler } from '../../../lib/consumer/settler.js';
import type { QueueEvents } from '../../../lib/events/queue-events.interface.js';
import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import { encodeEnvelope, type EnvelopeFields } from '../../../lib/messages/envelope.js';
import { turns } from './test-claimant.js';

const PARTITION = { topic: 'jobs', index: 0 };
const LEASE = 30_000;

const SETTINGS: HandlerSettings = {
  partitions: undefined,
  attempts: 3,
  backoff: { delay: 1000, factor: 1, maxDelay: 1000, jitter: 0 },
  timeout: undefined,
  lease: LEASE,
  expireAfter: undefined,
  serializer: undefined,
  deadLetter: { maxAge: undefined, maxCount: undefined },
};

/** A call of the handler, which ends when the test says so. */
export interface BedCall {
  readonly messages: readonly DelayedMessage[];
  readonly ids: readonly string[];
  resolve(result?: unknown): void;
  reject(error: unknown): void;
}

export interface BedOptions {
  readonly batch?: number | undefined;
  readonly settings?: Partial<HandlerSettings>;
}

/** A dispatcher of one partition; the test claims, handles, and sees what is settled. */
export class DispatchBed {
  readonly clock = new ManualClock();
  readonly calls: BedCall[] = [];
  readonly events: [kind: keyof QueueEvents, id: unknown][] = [];
  readonly dispatcher: MessageDispatcher;
  slotsFree = 0;
  /** Answers a look at what is stored; a dispatcher looks before it declares a message crashed. */
  lookUp: Broker['get'] = async () => undefined;
  readonly #settlements: Settlement[] = [];
  #token = 0;

  constructor({ batch, settings }: BedOptions = {}) {
    const broker: Pick<Broker, 'now' | 'settle' | 'get'> = {
      now: () => this.clock.now(),
      get: async (partition, storedId) => this.lookUp(partition, storedId),
      settle: async (_partition, _call, settlements) => {
        this.#settlements.push(...settlements);
        return settlements.map(() => 'settled');
      },
    };
    const context: ConsumerContext = {
      broker: broker as Broker,
      clock: this.clock,
      log: { log: () => {}, warn: () => {}, error: () => {} },
      events: { wants: () => true, emit: (kind, event) => this.events.push([kind, 'id' in event && event.id]) },
      member: 'me',
    };
    this.dispatcher = new MessageDispatcher({
      context,
      partition: PARTITION,
      handler: {
        name: 'Jobs.work',
        concurrency: 1,
        batch,
        topics: [],
        handle: async (messages) => this.#call(messages),
      },
      settings: { ...SETTINGS, ...settings },
      schema: undefined,
      settler: new Settler(context, PARTITION, () => {}),
      onSlotFree: () => this.slotsFree++,
      onDead: () => {},
    });
  }

  /** A delivery as a claim made it just now; due now, unless something else is said. */
  delivery(
    id: string,
    { attempt = 1, late = 0, ...fields }: { attempt?: number; late?: number } & Partial<EnvelopeFields> = {},
  ): Delivery {
    const now = this.clock.now();
    const envelope = encodeEnvelope({ payload: `payload of ${id}`, publishedAt: now, ...fields });
    const claimed = { storedId: id, envelope, token: ++this.#token, delivery: attempt, attempt, dueAt: now - late };
    return new Delivery(PARTITION, claimed, now + LEASE);
  }

  /** Dispatches deliveries of these ids. */
  dispatch(ids: readonly string[], slots: number): number {
    return this.dispatcher.dispatch(
      ids.map((id) => this.delivery(id)),
      slots,
    );
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
    return this.#settlements.map(({ storedId, outcome }) => [storedId, outcome.kind]);
  }

  /** The failure that was settled last for a message. */
  async failureOf(id: string): Promise<unknown> {
    await turns(3);
    const outcome = this.#settlements.findLast(({ storedId }) => storedId === id)?.outcome;
    return outcome && 'failure' in outcome ? outcome.failure : undefined;
  }

  async #call(messages: readonly DelayedMessage[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.calls.push({ messages, ids: messages.map(({ id }) => id), resolve, reject });
    });
  }
}
