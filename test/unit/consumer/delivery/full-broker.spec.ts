import { describe, expect, it } from 'vitest';
import type { ClaimedMessage } from '../../../../lib/store/deliveries/claim.js';
import { addsMemory } from '../../../../lib/store/deliveries/settle.js';
import { ownerOf } from '../../../../lib/store/fleet/owner.js';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { PartitionClaimer } from '../../../../lib/consumer/delivery/partition-claimer.js';
import { Settler } from '../../../../lib/consumer/delivery/settler.js';
import { ACKED, RELEASED, type Verdict } from '../../../../lib/consumer/delivery/verdict.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import type { SettleLayer } from '../../../../lib/middleware/middleware-layers.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { testContext, testHandling } from '../../../support/units/handling.js';
import { turns } from '../../../support/units/test-claimant.js';

const PARTITION = { topic: 'jobs', index: 0 };
const LEASE = 600_000;
const OWNER = ownerOf('epoch', 'me');
const RETRIED: Verdict = {
  outcome: { kind: 'retry', delay: LEASE, failure: { reason: 'failed', name: 'Error', message: 'boom' } },
};

/** A broker that is full until the test makes room. */
class Bed {
  readonly clock = new ManualClock(1_000_000);
  readonly broker = new EmbeddedBroker(this.clock);
  /** The number of outcomes of each settle that was refused. */
  readonly refused: number[] = [];
  readonly settled = new Set<string>();
  readonly waits: boolean[] = [];
  readonly errors: unknown[] = [];
  isFull = true;
  readonly settler: Settler;

  constructor(settleLayers?: readonly SettleLayer[]) {
    const settle = this.broker.deliveries.settle.bind(this.broker.deliveries);
    this.broker.deliveries.settle = async (partition, call, settlements) => {
      if (this.isFull && settlements.some(addsMemory)) {
        this.refused.push(settlements.length);
        throw new BrokerUnavailableError('OOM', { transient: false, full: true });
      }
      return settle(partition, call, settlements);
    };
    const context = testContext({
      broker: this.broker,
      clock: this.clock,
      events: { wants: () => true, emit: (_, event) => this.errors.push(event) },
      settleLayers,
    });
    this.settler = new Settler(context, PARTITION, {
      settled: ({ id }) => void this.settled.add(id),
      stale: () => {},
      done: () => {},
      waits: (isWaiting) => this.waits.push(isWaiting),
      caughtUp: () => {},
    });
  }

  async deliver(count: number): Promise<Delivery[]> {
    const messages = Array.from({ length: count }, (_, i) => {
      return { storedId: `m${i}`, envelope: '[1,2]', due: { at: i }, onDuplicate: 'reject' } as const;
    });
    await this.broker.fleet.acquire(PARTITION, OWNER, undefined);
    await this.broker.messages.publish(PARTITION, { caller: 'test', sequence: 1 }, messages);
    const result = await this.broker.deliveries.claim(PARTITION, {
      owner: OWNER,
      sequence: 1,
      delivered: 0,
      max: 200,
      lease: LEASE,
    });
    const claimed: readonly ClaimedMessage[] = result.status === 'not-owner' ? [] : result.messages;
    return claimed.map((message) => new Delivery(PARTITION, message, this.clock.now() + LEASE));
  }

  async settle(deliveries: readonly Delivery[], verdictOf: (i: number) => Verdict): Promise<void> {
    for (const [i, delivery] of deliveries.entries()) this.settler.settle(delivery, verdictOf(i));
    await this.settler.idle();
  }
}

describe('while the broker is full', () => {
  it('acks and releases are settled, though they travel with retries, and the retries wait', async () => {
    const bed = new Bed();
    await bed.settle(await bed.deliver(9), (i) => [ACKED, RETRIED, RELEASED][i % 3] as Verdict);

    expect([...bed.settled]).toEqual(['m0', 'm2', 'm3', 'm5', 'm6', 'm8']);
    expect(bed.settler.waiting.map(({ id }) => id)).toEqual(['m1', 'm4', 'm7']);
    expect(bed.settler.unsettled).toBe(3);
    expect(bed.waits).toEqual([true]);
    expect(bed.errors).toHaveLength(1);
  });

  it('what waits is tried twice a second and in small calls, and all is settled once there is room, each once', async () => {
    const bed = new Bed();
    await bed.settle(await bed.deliver(40), () => RETRIED);
    bed.refused.length = 0;
    await bed.clock.advance(10_000);
    expect(bed.refused.length).toBeLessThanOrEqual(20);
    expect(Math.max(...bed.refused)).toBeLessThanOrEqual(16);

    bed.isFull = false;
    await bed.clock.advance(500);
    await bed.settler.idle();

    expect(bed.settled.size).toBe(40);
    expect(await bed.broker.messages.stats(PARTITION)).toMatchObject({
      scheduled: 40,
      inFlight: 0,
      counters: { retried: 40 },
    });
    expect(bed.settler.unsettled).toBe(0);
    expect(bed.waits).toEqual([true, false]);
    expect(bed.errors).toHaveLength(1);
  });

  it('a partition is crowded from the 100th outcome on that waits, until none does', async () => {
    const bed = new Bed();
    const deliveries = await bed.deliver(100);
    await bed.settle(deliveries.slice(0, 99), () => RETRIED);
    expect(bed.settler.comesFirst).toBe(false);
    await bed.settle(deliveries.slice(99), () => RETRIED);
    expect(bed.settler.comesFirst).toBe(true);

    bed.isFull = false;
    await bed.clock.advance(500);
    await bed.settler.idle();
    expect(bed.settler.comesFirst).toBe(false);
  });

  it('the middleware learns why a settle failed, and then of each settle that counts', async () => {
    const seen: string[] = [];
    const layer: SettleLayer = {
      name: 'looking',
      call: async (outcomes, next) => {
        const ids = outcomes.map(({ id }) => id).join();
        const result = await next().catch((error: unknown) => error);
        seen.push(`${ids}: ${result instanceof BrokerUnavailableError ? 'full' : String(result)}`);
        if (result instanceof Error) throw result;
        return result;
      },
    };
    const bed = new Bed([layer]);
    await bed.settle(await bed.deliver(2), (i) => (i === 0 ? ACKED : RETRIED));
    bed.isFull = false;
    await bed.clock.advance(500);
    await bed.settler.idle();

    expect(seen).toEqual(['m0,m1: full', 'm0: settled', 'm1: settled']);
  });

  it('a crowded partition claims nothing, and asks for no slots', async () => {
    const { broker, clock } = new Bed();
    const taker = {
      partition: PARTITION,
      settlesFirst: true,
      hasSucceeded: false,
      takeSucceeded: () => undefined,
      take: () => 0,
      settled: () => {},
      keepsFinished: () => {},
      lost: () => {},
    };
    let claims = 0;
    broker.deliveries.claim = async () => {
      claims++;
      return {
        status: 'claimed',
        messages: [],
        delivered: 0,
        nextAt: undefined,
        repaired: 0,
        heldBack: false,
        keepsFinished: false,
      };
    };
    const claimer = new PartitionClaimer(testHandling({ context: testContext({ broker, clock }) }), taker, OWNER);
    claimer.start();
    await clock.advance(60_000);
    expect(claims).toBe(0);
    expect(claimer.progress.saturated).toBe(true);

    taker.settlesFirst = false;
    claimer.wake(0);
    await turns();
    expect(claims).toBe(1);
    await claimer.stop();
  });
});
