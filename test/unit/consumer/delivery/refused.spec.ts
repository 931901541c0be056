import { describe, expect, it } from 'vitest';
import type { ClaimedMessage } from '../../../../lib/store/deliveries/claim.js';
import { ownerOf } from '../../../../lib/store/fleet/owner.js';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { PartitionClaimer } from '../../../../lib/consumer/delivery/partition-claimer.js';
import { Settler } from '../../../../lib/consumer/delivery/settler.js';
import { ACKED, type DeadOutcome, type Verdict } from '../../../../lib/consumer/delivery/verdict.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import type { BackgroundError } from '../../../../lib/events/queue-events.interface.js';
import { testContext, testHandling } from '../../../support/units/handling.js';
import { turns } from '../../../support/units/test-claimant.js';

const PARTITION = { topic: 'jobs', index: 0 };
const OWNER = ownerOf('epoch', 'me');
const LEASE = 30_000;

function refusal(): BrokerUnavailableError {
  return new BrokerUnavailableError('Redis at test failed: ERR it met something', { transient: false, refused: true });
}

/** A broker that refuses every call in which one of the bad messages takes part, as a script would that they make fail. */
class Bed {
  readonly clock = new ManualClock(1_000_000);
  readonly broker = new EmbeddedBroker(this.clock);
  readonly bad = new Set<string>();
  /** The number of messages of each settle and claim. */
  readonly sizes: number[] = [];
  readonly log: string[] = [];
  readonly errors: BackgroundError[] = [];
  readonly setAside: [id: string, outcome: DeadOutcome][] = [];
  readonly confirmed: string[] = [];
  readonly context = testContext({
    broker: this.broker,
    clock: this.clock,
    log: { log: () => {}, warn: () => {}, error: (message) => this.log.push(message) },
    events: { wants: () => false, emit: (_, error) => this.errors.push(error as BackgroundError) },
  });

  async publish(count: number): Promise<void> {
    const messages = Array.from({ length: count }, (_, i) => {
      return { storedId: `m${i}`, envelope: '[1,2]', due: { at: i }, onDuplicate: 'reject' } as const;
    });
    await this.broker.fleet.acquire(PARTITION, OWNER, undefined);
    await this.broker.messages.publish(PARTITION, { caller: 'test', sequence: 1 }, messages);
  }

  async deliver(count: number): Promise<Delivery[]> {
    await this.publish(count);
    const request = { owner: OWNER, sequence: 1, delivered: 0, max: 200, lease: LEASE };
    const result = await this.broker.deliveries.claim(PARTITION, request);
    const messages: ClaimedMessage[] = result.status === 'not-owner' ? [] : result.messages;
    return messages.map((message) => new Delivery(PARTITION, message, this.clock.now() + LEASE));
  }

  refuseSettles(): Settler {
    const settle = this.broker.deliveries.settle.bind(this.broker.deliveries);
    this.broker.deliveries.settle = async (partition, call, settlements) => {
      this.sizes.push(settlements.length);
      if (settlements.some(({ storedId }) => this.bad.has(storedId))) throw refusal();
      return settle(partition, call, settlements);
    };
    return new Settler(this.context, PARTITION, this);
  }

  async settleAll(settler: Settler, deliveries: readonly Delivery[]): Promise<void> {
    for (const delivery of deliveries) settler.settle(delivery, ACKED);
    await settler.idle();
  }

  refuseClaims(): { readonly claimer: PartitionClaimer; readonly claimed: string[] } {
    const claim = this.broker.deliveries.claim.bind(this.broker.deliveries);
    this.broker.deliveries.claim = async (partition, request) => {
      this.sizes.push(request.max);
      const due = await this.broker.messages.peek(partition, { state: 'due', limit: request.max, maxBytes: 1e6 });
      if (due.messages.some(({ storedId }) => this.bad.has(storedId))) throw refusal();
      return claim(partition, request);
    };
    const claimed: string[] = [];
    const taker = {
      partition: PARTITION,
      take: (deliveries: readonly Delivery[]) => {
        claimed.push(...deliveries.map(({ storedId }) => storedId));
        return 0;
      },
      settlesFirst: false,
      hasSucceeded: false,
      takeSucceeded: () => undefined,
      settled: this.settled.bind(this),
      keepsFinished: () => {},
      lost: () => {},
    };
    return { claimer: new PartitionClaimer(testHandling({ context: this.context }), taker, OWNER), claimed };
  }

  settled({ id }: Delivery, { outcome }: Verdict): void {
    if (outcome.kind === 'dead') this.setAside.push([id, outcome]);
    else this.confirmed.push(id);
  }

  stale(): void {}
  done(): void {}

  waits(): void {
    expect.fail('nothing waits for room');
  }

  caughtUp(): void {}

  async states(): Promise<Record<string, number>> {
    const { scheduled, inFlight, dead } = await this.broker.messages.stats(PARTITION);
    return { scheduled, inFlight, dead };
  }
}

describe('a settle that is refused for one message', () => {
  it('is split until that one stands alone: it is a dead letter, and the others are settled, each once', async () => {
    const bed = new Bed();
    const deliveries = await bed.deliver(200);
    bed.bad.add('m57').add('m58').add('m199');

    await bed.settleAll(bed.refuseSettles(), deliveries);

    expect(await bed.states()).toEqual({ scheduled: 0, inFlight: 0, dead: 3 });
    expect(bed.confirmed).toHaveLength(197);
    expect(bed.setAside.map(([id, { failure, spent }]) => [id, failure.reason, spent])).toEqual([
      ['m57', 'undecodable', false],
      ['m58', 'undecodable', false],
      ['m199', 'undecodable', false],
    ]);
    expect(await bed.broker.messages.get(PARTITION, 'm57')).toMatchObject({
      state: 'dead',
      envelope: '[1,2]',
      failure: { name: 'SerializationError', message: expect.stringContaining('ERR it met something') as string },
    });
    expect(bed.errors.map(({ source }) => source)).toEqual(['settle', 'settle', 'settle']);
    // Two calls a halving of 200, for each of the three.
    expect(bed.sizes.length).toBeLessThanOrEqual(1 + 3 * 2 * 8);
  });

  it('and that cannot be set aside either keeps no other from being settled', async () => {
    const bed = new Bed();
    const deliveries = await bed.deliver(20);
    bed.bad.add('m7');
    bed.broker.deliveries.setAside = async () => Promise.reject(refusal());

    await bed.settleAll(bed.refuseSettles(), deliveries);

    expect(await bed.states()).toEqual({ scheduled: 0, inFlight: 1, dead: 0 });
    expect(bed.confirmed).toHaveLength(19);
    expect(bed.log).toEqual([expect.stringMatching(/'m7'.*could not be set aside.*ERR it met something/)]);
  });

  it('is not split where it is Redis that serves nobody: it waits', async () => {
    const bed = new Bed();
    const deliveries = await bed.deliver(20);
    const settler = bed.refuseSettles();
    const settle = bed.broker.deliveries.settle.bind(bed.broker.deliveries);
    bed.broker.deliveries.settle = async (_, __, settlements) => {
      bed.sizes.push(settlements.length);
      throw new BrokerUnavailableError('OOM', { transient: false });
    };
    const settling = bed.settleAll(settler, deliveries);
    await turns();
    await bed.clock.advance(1000);
    bed.broker.deliveries.settle = settle;
    await bed.clock.advance(1000);
    await settling;

    expect(new Set(bed.sizes)).toEqual(new Set([20]));
    expect(await bed.states()).toEqual({ scheduled: 0, inFlight: 0, dead: 0 });
    expect(bed.setAside).toEqual([]);
  });

  it('is one whose delay is no number, too', async () => {
    const bed = new Bed();
    const [first, second] = await bed.deliver(2);
    const settler = bed.refuseSettles();
    settler.settle(first as Delivery, { outcome: { kind: 'put-off', delay: NaN } });
    settler.settle(second as Delivery, ACKED);
    await settler.idle();

    expect(await bed.states()).toEqual({ scheduled: 0, inFlight: 0, dead: 1 });
    expect(bed.setAside).toMatchObject([['m0', { failure: { message: expect.stringContaining('NaN') as string } }]]);
  });
});

describe('a claim that is refused for one message', () => {
  it('asks for fewer until that one stands alone: it is a dead letter, and the others are claimed', async () => {
    const bed = new Bed();
    await bed.publish(100);
    bed.bad.add('m0').add('m42').add('m99');
    const { claimer, claimed } = bed.refuseClaims();

    claimer.start();
    for (let i = 0; i < 100 && claimed.length < 97; i++) await turns();
    await claimer.stop();

    expect(claimed).toEqual(
      Array.from({ length: 100 }, (_, i) => `m${i}`).filter((storedId) => !bed.bad.has(storedId)),
    );
    expect(bed.setAside.map(([storedId]) => storedId)).toEqual(['m0', 'm42', 'm99']);
    expect(await bed.states()).toMatchObject({ scheduled: 0, dead: 3 });
    expect(bed.errors.map(({ source }) => source)).toEqual(['claim', 'claim', 'claim']);
  });

  it('and that cannot be set aside is tried again a second later, not at once', async () => {
    const bed = new Bed();
    await bed.publish(1);
    bed.bad.add('m0');
    bed.broker.deliveries.setAside = async () => undefined;
    const { claimer, claimed } = bed.refuseClaims();
    claimer.start();
    await turns();
    const before = bed.sizes.length;
    await bed.clock.advance(900);
    expect(bed.sizes).toHaveLength(before);
    bed.bad.clear();
    await bed.clock.advance(200);
    await turns();

    expect(claimed).toEqual(['m0']);
    await claimer.stop();
  });
});
