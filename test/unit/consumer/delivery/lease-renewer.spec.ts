import { describe, expect, it } from 'vitest';
import type { Receipt } from '../../../../lib/store/deliveries/receipt.js';
import type { ExtendStatus } from '../../../../lib/store/deliveries/settle.js';
import type { Partition } from '../../../../lib/store/partition.js';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { Call, Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { LeaseRenewer } from '../../../../lib/consumer/delivery/lease-renewer.js';
import { RunningDeliveries } from '../../../../lib/consumer/delivery/running-deliveries.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import type { BackgroundError } from '../../../../lib/events/queue-events.interface.js';
import { testContext, testHandling } from '../../../support/units/handling.js';

const LEASE = 3000;
const PARTITION: Partition = { topic: 'jobs', index: 0 };

const silent = (): void => {};

/** A renewer, what runs, and when which leases were renewed. */
class Bed {
  readonly clock = new ManualClock(0);
  readonly running = new RunningDeliveries();
  readonly renewed: [at: number, ids: string][] = [];
  readonly warnings: string[] = [];
  readonly errors: BackgroundError[] = [];
  answer: (receipts: readonly Receipt[]) => Promise<ExtendStatus[]> = async (receipts) =>
    receipts.map(() => 'extended');
  readonly renewer: LeaseRenewer;
  /** Deliveries whose outcomes wait for room. */
  readonly waiting: Delivery[] = [];

  constructor(settings: { readonly timeout?: number } = {}) {
    const broker = new EmbeddedBroker(this.clock);
    broker.deliveries.extend = async (_partition, _lease, receipts) => {
      this.renewed.push([this.clock.now(), receipts.map(({ storedId }) => storedId).join()]);
      return this.answer(receipts);
    };
    const context = testContext({
      broker,
      clock: this.clock,
      log: { log: silent, warn: (line) => void this.warnings.push(line), error: silent },
      events: { wants: () => true, emit: (_kind, event) => void this.errors.push(event as BackgroundError) },
    });
    const handling = testHandling({ context, settings: { lease: LEASE, timeout: settings.timeout } });
    this.renewer = new LeaseRenewer(handling, PARTITION, { running: this.running, settler: this });
  }

  readonly begin = (storedId: string, envelope = '[1,2]'): Delivery => {
    const claimed = { storedId, envelope, token: 'epoch.1', delivery: 1, attempt: 1, weight: 0, dueAt: 0 };
    const delivery = new Delivery(PARTITION, claimed, this.clock.now() + LEASE);
    delivery.startedAt = this.clock.now();
    this.running.add(delivery);
    this.renewer.start(delivery.leaseEndsAt);
    return delivery;
  };
}

describe('LeaseRenewer', () => {
  it('renews the lease of a delivery whose handler has ended, while its outcome waits for room', async () => {
    const { clock, running, waiting, renewed, begin } = new Bed();
    const delivery = begin('a');
    delivery.settle(clock.now());
    running.remove(delivery);
    waiting.push(delivery);

    await clock.advance(LEASE);

    expect(renewed.map(([, ids]) => ids)).toEqual(['a', 'a', 'a']);
    expect(delivery.leaseEndsAt).toBe(clock.now() + LEASE);
  });

  it('renews three times a lease while deliveries run', async () => {
    const { clock, renewed, begin } = new Bed();
    begin('a');

    await clock.advance(LEASE);

    expect(renewed).toEqual([
      [1000, 'a'],
      [2000, 'a'],
      [3000, 'a'],
    ]);
  });

  it('renews all leases but the one that is refused, which ends by itself', async () => {
    const bed = new Bed();
    const deliveries = Array.from({ length: 9 }, (_, i) => bed.begin(`m${i}`));
    bed.answer = async (receipts) => {
      if (receipts.some(({ storedId }) => storedId === 'm4')) {
        throw new BrokerUnavailableError('ERR', { transient: false, refused: true });
      }
      return receipts.map(() => 'extended');
    };

    await bed.clock.advance(LEASE + 1000);

    expect(deliveries.filter(({ aborted }) => aborted).map(({ storedId }) => storedId)).toEqual(['m4']);
    expect(deliveries[5]?.leaseEndsAt).toBeGreaterThan(LEASE);
  });

  it('has no timer while nothing runs', async () => {
    const { clock, renewed, running, begin } = new Bed();
    expect(clock.nextTimerAt).toBeUndefined();

    begin('a');
    for (const delivery of running) running.remove(delivery);
    await clock.advance(LEASE);

    expect(clock.nextTimerAt).toBeUndefined();
    expect(renewed).toEqual([]);
  });

  it('renews in time what begins just after it went to rest, or just before', async () => {
    const { clock, renewed, running, begin } = new Bed();
    begin('a');
    for (const delivery of running) running.remove(delivery);
    await clock.advance(1000);
    begin('b');
    await clock.advance(999);
    begin('c');
    await clock.advance(1);

    expect(renewed).toEqual([[2000, 'b,c']]);
  });

  it('goes to rest where a handler outlives its outcome', async () => {
    const { clock, renewed, begin } = new Bed();
    begin('a').settle(clock.now());

    await clock.advance(LEASE);

    expect(clock.nextTimerAt).toBeUndefined();
    expect(renewed).toEqual([]);
  });

  it('aborts what was lost or cancelled', async () => {
    const bed = new Bed();
    const [kept, lost, cancelled] = ['a', 'b', 'c'].map((id) => bed.begin(id));
    bed.answer = async () => ['extended', 'lost', 'cancelled'];

    await bed.clock.advance(1000);

    expect(kept?.signal.aborted).toBe(false);
    expect(kept?.leaseEndsAt).toBe(1000 + LEASE);
    expect(lost?.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    expect(cancelled?.signal.reason).toMatchObject({ code: 'CANCELLED' });
  });

  it.each([
    { broker: 'cannot be reached', answer: () => Promise.reject(new BrokerUnavailableError('down')) },
    { broker: 'does not answer', answer: () => new Promise<never>(() => {}) },
  ])('aborts when the lease is over where the broker $broker', async ({ answer }) => {
    const bed = new Bed();
    const { signal } = bed.begin('a');
    bed.answer = answer;

    await bed.clock.advance(LEASE - 1);
    expect(signal.aborted).toBe(false);
    await bed.clock.advance(1);

    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST' });
  });

  it('does nothing more once it is stopped', async () => {
    const { clock, renewed, renewer, begin } = new Bed();
    begin('a');
    await renewer.stop();
    begin('b');

    await clock.advance(LEASE);

    expect(clock.nextTimerAt).toBeUndefined();
    expect(renewed).toEqual([]);
  });
});

describe('a handler that runs for longer than three leases', () => {
  it('is warned of once a run, with its message, and is renewed all the same', async () => {
    const { clock, warnings, errors, renewed, running, begin } = new Bed();
    begin('a');
    await clock.advance(500);
    const short = begin('b');
    await clock.advance(3 * LEASE - 500);
    expect(warnings).toEqual([]);
    running.remove(short);
    await clock.advance(10 * LEASE);

    expect(warnings).toEqual([
      "Jobs.work has run for 10 s with message 'a' of topic 'jobs', longer than three leases of 3 s. While it runs its lease " +
        "is renewed and its slot is taken. If it may hang, set a 'timeout' for the handler or the topic; if it is meant to " +
        "take this long, set a 'timeout' or a 'lease' that says so.",
    ]);
    expect(errors).toMatchObject([
      {
        source: 'overrun',
        topic: 'jobs',
        partition: 0,
        error: { code: 'HANDLER_OVERRUN', ids: ['a'], duration: 10_000 },
      },
    ]);
    expect(renewed.at(-1)).toEqual([39_000, 'a']);
    begin('a');
    await clock.advance(4 * LEASE);
    expect(warnings).toHaveLength(2);
  });

  it('is one for all messages of a batch', async () => {
    const { clock, warnings, begin } = new Bed();
    const slots = { freeSlot: () => {} };
    const call = new Call([], slots);
    for (let i = 0; i < 25; i++) begin(`m${i}`).call = call;
    begin('other').call = new Call([], slots);
    await clock.advance(4 * LEASE);

    expect(warnings).toEqual([
      expect.stringContaining(
        "with messages 'm0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8', 'm9' and 15 more of",
      ),
      expect.stringContaining("with message 'other' of topic 'jobs'"),
    ]);
  });

  it.each([
    { where: 'its handler or topic', settings: { timeout: 60_000 }, envelope: '[1,2]' },
    { where: 'its message', settings: {}, envelope: '[1,2,{"t":60000}]' },
  ])('is not warned of if $where has a timeout: how long it may take was said', async ({ settings, envelope }) => {
    const { clock, warnings, begin } = new Bed(settings);
    begin('a', envelope);
    await clock.advance(5 * LEASE);
    expect(warnings).toEqual([]);
  });

  it('is warned of while Redis does not answer, too', async () => {
    const bed = new Bed();
    bed.answer = () => new Promise<never>(() => {});
    bed.begin('a');
    await bed.clock.advance(4 * LEASE);
    expect(bed.warnings).toHaveLength(1);
  });
});
