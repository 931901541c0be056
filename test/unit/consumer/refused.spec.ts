import { describe, expect, it } from 'vitest';
import type { ClaimedMessage, Outcome, StoredMessage } from '../../../lib/broker/broker.interface.js';
import { MemoryBroker } from '../../../lib/broker/memory/memory.broker.js';
import { ManualClock } from '../../../lib/time/manual-clock.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import { Delivery } from '../../../lib/consumer/delivery.js';
import type { DeadOutcome } from '../../../lib/consumer/delivery-reporter.js';
import { PartitionClaimer } from '../../../lib/consumer/partition-claimer.js';
import { Settler } from '../../../lib/consumer/settler.js';
import { WorkerGroup } from '../../../lib/consumer/worker-group.js';
import { WorkerPool } from '../../../lib/consumer/worker-pool.js';
import { BrokerUnavailableError } from '../../../lib/errors/broker-unavailable.error.js';
import type { BackgroundError } from '../../../lib/events/background-error.js';
import { turns } from './support/test-claimant.js';

const PARTITION = { topic: 'jobs', index: 0 };
const ACK: Outcome = { kind: 'ack' };
const LEASE = 30_000;

function refusal(): BrokerUnavailableError {
  return new BrokerUnavailableError('Redis at test failed: ERR it met something', { transient: false, refused: true });
}

/** A broker that refuses every call in which one of the bad messages takes part, as a script would that they make fail. */
class Bench {
  readonly clock = new ManualClock(1_000_000);
  readonly broker = new MemoryBroker(this.clock);
  readonly bad = new Set<string>();
  /** How many messages each settle and each claim has asked for. */
  readonly sizes: number[] = [];
  readonly log: string[] = [];
  readonly errors: BackgroundError[] = [];
  readonly setAside: [id: string, outcome: DeadOutcome][] = [];
  readonly confirmed: string[] = [];
  readonly context: ConsumerContext = {
    broker: this.broker,
    clock: this.clock,
    log: { log: () => {}, warn: () => {}, error: (message) => this.log.push(message) },
    events: { wants: () => false, emit: (_, error) => this.errors.push(error as BackgroundError) },
    member: 'me',
  };

  async publish(count: number): Promise<void> {
    const messages = Array.from({ length: count }, (_, i) => {
      return { storedId: `m${i}`, envelope: '[1,2]', due: { at: i }, onDuplicate: 'reject' } as const;
    });
    await this.broker.acquire(PARTITION, 'me', 1e9);
    await this.broker.publish(PARTITION, { caller: 'test', sequence: 1 }, messages);
  }

  async deliver(count: number): Promise<Delivery[]> {
    await this.publish(count);
    const result = await this.broker.claim(PARTITION, { member: 'me', max: 200, lease: LEASE, knownToken: 0 });
    const messages: ClaimedMessage[] = result.status === 'not-owner' ? [] : result.messages;
    return messages.map((message) => new Delivery(PARTITION, message, this.clock.now() + LEASE));
  }

  refuseSettles(): Settler {
    const settle = this.broker.settle.bind(this.broker);
    this.broker.settle = async (partition, call, settlements) => {
      this.sizes.push(settlements.length);
      if (settlements.some(({ storedId }) => this.bad.has(storedId))) throw refusal();
      return settle(partition, call, settlements);
    };
    return new Settler(this.context, PARTITION, ({ id }, outcome) => this.setAside.push([id, outcome]));
  }

  async settleAll(settler: Settler, deliveries: readonly Delivery[]): Promise<void> {
    for (const delivery of deliveries) settler.settle(delivery, ACK, () => this.confirmed.push(delivery.id));
    await settler.idle();
  }

  refuseClaims(): { readonly claimer: PartitionClaimer; readonly claimed: string[] } {
    const claim = this.broker.claim.bind(this.broker);
    this.broker.claim = async (partition, request) => {
      this.sizes.push(request.max);
      const due = await this.broker.peek(partition, { state: 'due', limit: request.max, maxBytes: 1e6 });
      if (due.messages.some(({ storedId }) => this.bad.has(storedId))) throw refusal();
      return claim(partition, request);
    };
    const claimed: string[] = [];
    const group = new WorkerGroup(1000);
    const claimer = new PartitionClaimer({
      context: this.context,
      partition: PARTITION,
      pool: new WorkerPool(1000),
      group,
      priority: 0,
      batch: 1,
      lease: LEASE,
      token: 0,
      onMessages: (messages) => {
        claimed.push(...messages.map(({ storedId }) => storedId));
        return 0;
      },
      onSetAside: ({ storedId }: StoredMessage, outcome) => this.setAside.push([storedId, outcome]),
      onLost: () => {},
      onPause: () => {},
    });
    return { claimer, claimed };
  }

  async states(): Promise<Record<string, number>> {
    const { scheduled, inFlight, dead } = await this.broker.stats(PARTITION);
    return { scheduled, inFlight, dead };
  }
}

describe('a settle that is refused for one message', () => {
  it('is split until that one stands alone: it is a dead letter, and the others are settled, each once', async () => {
    const bench = new Bench();
    const deliveries = await bench.deliver(200);
    bench.bad.add('m57').add('m58').add('m199');

    await bench.settleAll(bench.refuseSettles(), deliveries);

    expect(await bench.states()).toEqual({ scheduled: 0, inFlight: 0, dead: 3 });
    expect(bench.confirmed).toHaveLength(197);
    expect(bench.setAside.map(([id, { failure, spent }]) => [id, failure.reason, spent])).toEqual([
      ['m57', 'undecodable', false],
      ['m58', 'undecodable', false],
      ['m199', 'undecodable', false],
    ]);
    expect(await bench.broker.get(PARTITION, 'm57')).toMatchObject({
      state: 'dead',
      envelope: '[1,2]',
      failure: { name: 'SerializationError', message: expect.stringContaining('ERR it met something') as string },
    });
    expect(bench.errors.map(({ source }) => source)).toEqual(['settle', 'settle', 'settle']);
    // Two calls a halving of 200, for each of the three.
    expect(bench.sizes.length).toBeLessThanOrEqual(1 + 3 * 2 * 8);
  });

  it('and that cannot be set aside either keeps no other from being settled', async () => {
    const bench = new Bench();
    const deliveries = await bench.deliver(20);
    bench.bad.add('m7');
    bench.broker.setAside = async () => Promise.reject(refusal());

    await bench.settleAll(bench.refuseSettles(), deliveries);

    expect(await bench.states()).toEqual({ scheduled: 0, inFlight: 1, dead: 0 });
    expect(bench.confirmed).toHaveLength(19);
    expect(bench.log).toEqual([expect.stringMatching(/'m7'.*could not be set aside.*ERR it met something/)]);
  });

  it('is not split where it is Redis that serves nobody: it waits', async () => {
    const bench = new Bench();
    const deliveries = await bench.deliver(20);
    const settler = bench.refuseSettles();
    const settle = bench.broker.settle.bind(bench.broker);
    bench.broker.settle = async (_, __, settlements) => {
      bench.sizes.push(settlements.length);
      throw new BrokerUnavailableError('OOM', { transient: false });
    };
    const settling = bench.settleAll(settler, deliveries);
    await turns();
    await bench.clock.advance(1000);
    bench.broker.settle = settle;
    await bench.clock.advance(1000);
    await settling;

    expect(new Set(bench.sizes)).toEqual(new Set([20]));
    expect(await bench.states()).toEqual({ scheduled: 0, inFlight: 0, dead: 0 });
    expect(bench.setAside).toEqual([]);
  });

  it('is one whose delay is no number, too', async () => {
    const bench = new Bench();
    const [first, second] = await bench.deliver(2);
    const settler = bench.refuseSettles();
    settler.settle(first as Delivery, { kind: 'put-off', delay: NaN });
    settler.settle(second as Delivery, ACK);
    await settler.idle();

    expect(await bench.states()).toEqual({ scheduled: 0, inFlight: 0, dead: 1 });
    expect(bench.setAside).toMatchObject([['m0', { failure: { message: expect.stringContaining('NaN') as string } }]]);
  });
});

describe('a claim that is refused for one message', () => {
  it('asks for fewer until that one stands alone: it is a dead letter, and the others are claimed', async () => {
    const bench = new Bench();
    await bench.publish(100);
    bench.bad.add('m0').add('m42').add('m99');
    const { claimer, claimed } = bench.refuseClaims();

    claimer.start();
    for (let i = 0; i < 100 && claimed.length < 97; i++) await turns();
    await claimer.stop();

    expect(claimed).toEqual(
      Array.from({ length: 100 }, (_, i) => `m${i}`).filter((storedId) => !bench.bad.has(storedId)),
    );
    expect(bench.setAside.map(([storedId]) => storedId)).toEqual(['m0', 'm42', 'm99']);
    expect(await bench.states()).toMatchObject({ scheduled: 0, dead: 3 });
    expect(bench.errors.map(({ source }) => source)).toEqual(['claim', 'claim', 'claim']);
  });

  it('and that cannot be set aside is tried again a second later, not at once', async () => {
    const bench = new Bench();
    await bench.publish(1);
    bench.bad.add('m0');
    bench.broker.setAside = async () => undefined;
    const { claimer, claimed } = bench.refuseClaims();
    claimer.start();
    await turns();
    const before = bench.sizes.length;
    await bench.clock.advance(900);
    expect(bench.sizes).toHaveLength(before);
    bench.bad.clear();
    await bench.clock.advance(200);
    await turns();

    expect(claimed).toEqual(['m0']);
    await claimer.stop();
  });
});
