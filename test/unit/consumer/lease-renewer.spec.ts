import { describe, expect, it } from 'vitest';
import type { ExtendStatus, Partition, Receipt } from '../../../lib/broker/broker.interface.js';
import { MemoryBroker } from '../../../lib/broker/memory/memory.broker.js';
import { ManualClock } from '../../../lib/common/manual-clock.js';
import { Delivery } from '../../../lib/consumer/delivery.js';
import { LeaseRenewer } from '../../../lib/consumer/lease-renewer.js';
import { BrokerUnavailableError } from '../../../lib/errors/broker-unavailable.error.js';

const LEASE = 3000;
const PARTITION: Partition = { topic: 'jobs', index: 0 };

const silent = (): void => {};

/** A renewer, what runs, and when which leases were renewed. */
class Bench {
  readonly clock = new ManualClock(0);
  readonly running = new Map<string, Delivery>();
  readonly renewed: [at: number, ids: string][] = [];
  answer: (receipts: readonly Receipt[]) => Promise<ExtendStatus[]> = async (receipts) =>
    receipts.map(() => 'extended');
  readonly renewer: LeaseRenewer;

  constructor() {
    const broker = new MemoryBroker(this.clock);
    broker.extend = async (_partition, _lease, receipts) => {
      this.renewed.push([this.clock.now(), receipts.map(({ storedId }) => storedId).join()]);
      return this.answer(receipts);
    };
    this.renewer = new LeaseRenewer(
      {
        broker,
        clock: this.clock,
        log: { log: silent, warn: silent, error: silent },
        events: { wants: () => false, emit: silent },
        member: 'me',
      },
      LEASE,
      () => (this.running.size > 0 ? [[PARTITION, this.running] as const] : []),
    );
  }

  readonly begin = (storedId: string): Delivery => {
    const claimed = { storedId, envelope: '[1,2]', token: 1, delivery: 1, attempt: 1, dueAt: 0 };
    const delivery = new Delivery(PARTITION, claimed, this.clock.now() + LEASE);
    this.running.set(storedId, delivery);
    this.renewer.start();
    return delivery;
  };
}

describe('LeaseRenewer', () => {
  it('renews three times a lease while deliveries run', async () => {
    const { clock, renewed, begin } = new Bench();
    begin('a');

    await clock.advance(LEASE);

    expect(renewed).toEqual([
      [1000, 'a'],
      [2000, 'a'],
      [3000, 'a'],
    ]);
  });

  it('renews all leases but the one that is refused, which ends by itself', async () => {
    const bench = new Bench();
    const deliveries = Array.from({ length: 9 }, (_, i) => bench.begin(`m${i}`));
    bench.answer = async (receipts) => {
      if (receipts.some(({ storedId }) => storedId === 'm4')) {
        throw new BrokerUnavailableError('ERR', { transient: false, refused: true });
      }
      return receipts.map(() => 'extended');
    };

    await bench.clock.advance(LEASE + 1000);

    expect(deliveries.filter(({ aborted }) => aborted).map(({ storedId }) => storedId)).toEqual(['m4']);
    expect(deliveries[5]?.leaseEndsAt).toBeGreaterThan(LEASE);
  });

  it('has no timer while nothing runs', async () => {
    const { clock, renewed, running, begin } = new Bench();
    expect(clock.nextTimerAt).toBeUndefined();

    begin('a');
    running.clear();
    await clock.advance(LEASE);

    expect(clock.nextTimerAt).toBeUndefined();
    expect(renewed).toEqual([]);
  });

  it('renews in time what begins just after it went to rest, or just before', async () => {
    const { clock, renewed, running, begin } = new Bench();
    begin('a');
    running.clear();
    await clock.advance(1000);
    begin('b');
    await clock.advance(999);
    begin('c');
    await clock.advance(1);

    expect(renewed).toEqual([[2000, 'b,c']]);
  });

  it('goes to rest where a handler outlives its outcome', async () => {
    const { clock, renewed, begin } = new Bench();
    begin('a').settled = true;

    await clock.advance(LEASE);

    expect(clock.nextTimerAt).toBeUndefined();
    expect(renewed).toEqual([]);
  });

  it('aborts what was lost or cancelled', async () => {
    const bench = new Bench();
    const [kept, lost, cancelled] = ['a', 'b', 'c'].map(bench.begin);
    bench.answer = async () => ['extended', 'lost', 'cancelled'];

    await bench.clock.advance(1000);

    expect(kept?.signal.aborted).toBe(false);
    expect(kept?.leaseEndsAt).toBe(1000 + LEASE);
    expect(lost?.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    expect(cancelled?.signal.reason).toMatchObject({ code: 'CANCELLED' });
  });

  it.each([
    { broker: 'cannot be reached', answer: () => Promise.reject(new BrokerUnavailableError('down')) },
    { broker: 'does not answer', answer: () => new Promise<never>(() => {}) },
  ])('aborts when the lease is over where the broker $broker', async ({ answer }) => {
    const bench = new Bench();
    const { signal } = bench.begin('a');
    bench.answer = answer;

    await bench.clock.advance(LEASE - 1);
    expect(signal.aborted).toBe(false);
    await bench.clock.advance(1);

    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST' });
  });

  it('does nothing more once it is stopped', async () => {
    const { clock, renewed, renewer, begin } = new Bench();
    begin('a');
    await renewer.stop();
    begin('b');

    await clock.advance(LEASE);

    expect(clock.nextTimerAt).toBeUndefined();
    expect(renewed).toEqual([]);
  });
});
