import { fakeBroker } from './fake-broker.js';
import type { ClaimRequest, ClaimResult, ClaimedMessage } from '../../../lib/store/deliveries/claim.js';
import { tokenOf } from '../../../lib/store/deliveries/receipt.js';
import { ownerOf } from '../../../lib/store/fleet/owner.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import type { Delivery } from '../../../lib/consumer/delivery/delivery.js';
import { HandlerSlots, SlotPool } from '../../../lib/consumer/admission/handler-slots.js';
import type { SucceededDeliveries } from '../../../lib/consumer/delivery/succeeded-deliveries.js';
import type { TopicHandling } from '../../../lib/consumer/delivery/topic-handling.js';
import { PartitionClaimer } from '../../../lib/consumer/delivery/partition-claimer.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { testContext, testHandling } from './handling.js';
import { turns } from './test-claimant.js';

/** As whom the claimers own their partitions. */
export const OWNER = ownerOf('epoch', 'me');

/** A claim that was sent, and waits for its answer. */
export interface PendingClaim extends ClaimRequest {
  readonly topic: string;
  readonly answer: (result: ClaimResult) => void;
  readonly fail: (error: Error) => void;
}

interface ClaimerSetup {
  readonly batch?: number;
  readonly priority?: number;
  readonly succeeded?: SucceededDeliveries[];
  readonly instead?: Partial<TopicHandling>;
}

/** Claimers of one handler; the test answers their claims. */
export class ClaimBed {
  readonly clock = new ManualClock();
  readonly pool = new SlotPool(1000);
  readonly slots: HandlerSlots;
  readonly claims: PendingClaim[] = [];
  readonly errors: unknown[] = [];
  /** Lines about pauses. */
  readonly pauses: string[] = [];
  /** Messages that there was no slot for. */
  readonly givenBack: string[] = [];
  /** What was stored of the owner when a partition was lost. */
  readonly lost: (string | undefined)[] = [];
  /** How far the broker's clock is ahead, in milliseconds. */
  brokerAhead = 0;
  readonly #context: ConsumerContext;

  constructor(limit = 1000) {
    this.slots = new HandlerSlots(this.pool, limit);
    const broker = fakeBroker({
      now: () => this.clock.now() + this.brokerAhead,
      onClockStep: () => () => {},
      deliveries: {
        claim: async ({ topic }, request) =>
          new Promise((resolve, reject) => this.claims.push({ ...request, topic, answer: resolve, fail: reject })),
      },
    });
    this.#context = testContext({
      broker,
      clock: this.clock,
      log: {
        log: (message) => this.pauses.push(message),
        warn: () => {},
        error: (message) => this.errors.push(message),
      },
    });
  }

  /**
   * Every message takes `1 / batch` of a slot, as in full batches.
   *
   * @param given.succeeded deliveries that a claim can end
   * @param given.instead takes the place of other parts of the handling
   */
  claimer(
    topic: string,
    { batch = 1, priority = 0, succeeded = [], instead = {} }: ClaimerSetup = {},
  ): PartitionClaimer {
    const context = this.#context;
    const handling = { ...testHandling({ context, topic, batch, priority, slots: this.slots }), ...instead };
    const taker = {
      partition: { topic, index: 0 },
      take: (deliveries: readonly Delivery[], slots: number) => {
        this.givenBack.push(...deliveries.slice(slots * batch).map(({ id }) => id));
        return Math.min(Math.ceil(deliveries.length / batch), slots);
      },
      settlesFirst: false,
      get hasSucceeded() {
        return succeeded.length > 0;
      },
      takeSucceeded: () => succeeded.shift(),
      settled: () => {},
      keepsFinished: () => {},
      lost: (owner: string | undefined) => void this.lost.push(owner),
    };
    return new PartitionClaimer(handling, taker, OWNER);
  }

  /** The latest claim of a topic. */
  claimOf(topic: string): PendingClaim {
    const claim = this.claims.findLast((sent) => sent.topic === topic);
    if (!claim) throw new Error(`There was no claim of '${topic}'.`);
    return claim;
  }

  get claimed(): string[] {
    return this.claims.map(({ topic }) => topic);
  }
}

export function claimed(count: number, nextAt?: number): ClaimResult {
  const messages = Array.from({ length: count }, (_, i): ClaimedMessage => ({
    storedId: `m${i}`,
    envelope: '[1,2]',
    token: tokenOf('epoch', i + 1),
    delivery: 1,
    attempt: 1,
    weight: 0,
    dueAt: 0,
  }));
  return { status: 'claimed', messages, delivered: count, nextAt, repaired: 0, heldBack: false, keepsFinished: false };
}

/** What a claim is told if the topic is paused. */
export const PAUSED: ClaimResult = { ...claimed(0), status: 'paused' } as ClaimResult;

/** A claimer whose first claim was answered. */
export async function idle(answer: ClaimResult): Promise<{ bed: ClaimBed; claimer: PartitionClaimer }> {
  const bed = new ClaimBed();
  const claimer = bed.claimer('jobs');
  claimer.start();
  bed.claimOf('jobs').answer(answer);
  await turns();
  return { bed, claimer };
}
