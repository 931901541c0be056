import { afterEach, describe, expect, it } from 'vitest';
import { EXACTNESS } from '../../../../lib/consumer/admission/begin-estimate.js';
import type { TopicLimits } from '../../../../lib/store/deliveries/limits.js';
import { AT_ONCE, type PermitRequest } from '../../../../lib/store/deliveries/permits.js';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { wrapBroker } from '../../../../lib/store/wrap-broker.js';
import type { LimitedClaimant, Permits } from '../../../../lib/consumer/admission/permits.js';
import { TopicLimiter } from '../../../../lib/consumer/admission/topic-limiter.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { HEARTBEAT, testContext } from '../../../support/units/handling.js';
import { turns } from '../../../support/units/test-claimant.js';

const LEASE = 30_000;
const RATE: TopicLimits = { rate: { max: 4, per: 10_000, by: 'topic' } };
const FLIGHT: TopicLimits = { inFlight: { topic: 4 } };

/** A partition that asks. */
class Partition implements LimitedClaimant {
  looks = 0;

  lookAgain(): void {
    this.looks++;
  }
}

/** Processes with a limiter each, on one broker. */
class Bed {
  readonly clock = new ManualClock(1_000_000);
  readonly broker = new EmbeddedBroker(this.clock);
  readonly processes: Process[] = [];

  process(limits: TopicLimits): Process {
    const process = new Process(this, `host:${this.processes.length}:a`, limits);
    this.processes.push(process);
    return process;
  }
}

class Process {
  readonly calls: PermitRequest[] = [];
  readonly limiter: TopicLimiter;
  readonly states: boolean[] = [];
  isAway = false;
  /** What it asks is done, and not answered. */
  isDeaf = false;
  /** Called before it reads an answer. */
  onAnswer = (): void => {};

  constructor({ broker, clock }: Bed, session: string, limits: TopicLimits) {
    const watched = wrapBroker(broker, async (call) => {
      if (call.operation !== 'permit') return call.run();
      this.calls.push(call.args[1]);
      if (this.isAway) throw new BrokerUnavailableError('away');
      const reply = await call.run();
      if (this.isDeaf) throw new BrokerUnavailableError('deaf');
      this.onAnswer();
      return reply;
    });
    const context = testContext({
      broker: watched,
      clock,
      session,
      events: {
        wants: () => true,
        emit: (kind, event) => {
          if (kind === 'limited') this.states.push((event as { limited: boolean }).limited);
        },
      },
    });
    this.limiter = new TopicLimiter({ context, topic: 'jobs', lease: LEASE, patience: HEARTBEAT, limits });
    broker.watchSession(session, (signal) => {
      if (signal.kind === 'permits') this.limiter.told();
    });
  }

  take(wanted: number, partition = new Partition()): Promise<Permits> {
    return this.limiter.take(partition, wanted);
  }
}

describe('a limiter', () => {
  let bed = new Bed();

  function limited(limits: TopicLimits): Process {
    return bed.process(limits);
  }

  afterEach(async () => {
    await Promise.all(bed.processes.map(({ limiter }) => limiter.stop()));
    bed = new Bed();
  });

  it('limits nothing if only keys are limited, and says what they may have', () => {
    const { limiter } = limited({ rate: { max: 1, per: 1000, by: 'key' }, inFlight: { key: 2 } });
    expect(limiter.isLimited).toBe(false);
    expect(limiter.keyLimits).toEqual({ rate: { max: 1, per: 1000, by: 'key' }, inFlight: 2 });
  });

  it('asks with one call for all partitions, and shares what comes one by one', async () => {
    const process = limited(RATE);
    const asked = await Promise.all([process.take(100), process.take(1), process.take(100)]);
    expect(asked.map(({ count }) => count)).toEqual([2, 1, 1]);
    expect(process.calls.map(({ wanted }) => wanted)).toEqual([201]);
  });

  it('tells those that got nothing when to ask again, and does not ask before', async () => {
    const process = limited(RATE);
    await process.take(4);
    const waiting = new Partition();
    expect((await process.take(1, waiting)).count).toBe(0);
    expect((await process.take(1)).count).toBe(0);
    expect(process.calls).toHaveLength(2);
    await bed.clock.advance(HEARTBEAT - 10);
    expect(waiting.looks).toBe(0);

    await bed.clock.advance(11_000);
    expect(waiting.looks).toBe(1);
    expect((await process.take(1, waiting)).count).toBe(1);
  });

  it('looks each heartbeat all the same, since signals may get lost', async () => {
    const process = limited(RATE);
    await process.take(4);
    const waiting = new Partition();
    await process.take(1, waiting);
    await bed.clock.advance(HEARTBEAT + 1);
    expect(waiting.looks).toBe(1);
  });

  it('gives permits that are of use for a while only', async () => {
    const process = limited(RATE);
    const permits = await process.take(1);
    expect(permits.begin?.until).toBe(bed.clock.now() + AT_ONCE.slack - EXACTNESS);
    expect((await limited(FLIGHT).take(1)).begin).toBeUndefined();
  });

  it('returns permits that led to no handler call, together', async () => {
    const process = limited(RATE);
    const permits = await process.take(4);
    permits.claimed(2);
    permits.notCalled();
    await turns(3);
    expect(process.calls.at(-1)?.returned).toEqual([{ permittedAt: expect.any(Number) as number, count: 3 }]);
    expect((await process.take(4)).count).toBe(3);
  });

  it('uses permits to be in flight again without a call', async () => {
    const process = limited(FLIGHT);
    const permits = await process.take(4);
    permits.claimed(4);
    for (let n = 0; n < 20; n++) {
      permits.ended();
      expect((await process.take(1)).count).toBe(1);
    }
    expect(process.calls).toHaveLength(1);
  });

  it('asks nobody else while others of its partitions wait for what ends', async () => {
    const process = limited(FLIGHT);
    const permits = await process.take(4);
    const waiting = [new Partition(), new Partition(), new Partition()];
    for (const partition of waiting) await process.take(1, partition);
    const before = process.calls.length;
    for (let n = 0; n < 20; n++) {
      permits.ended();
      const counts = await Promise.all(waiting.map(async (partition) => (await process.take(1, partition)).count));
      expect(counts.filter((count) => count > 0)).toHaveLength(1);
      await turns(2);
    }
    expect(process.calls).toHaveLength(before);
  });

  it('keeps no permits to be in flight that it cannot use before its next call', async () => {
    const process = limited({ ...FLIGHT, rate: { max: 3, per: 10_000, by: 'topic' } });
    const permits = await process.take(4);
    expect(permits.count).toBe(3);
    for (let n = 0; n < 3; n++) permits.ended();
    await turns(3);
    expect(process.calls.at(-1)).toMatchObject({ held: 0, wanted: 0 });
    await bed.clock.advance(5000);
    expect(process.calls.length).toBeLessThan(4);
  });

  it('does not call again and again while calls fail', async () => {
    const process = limited(FLIGHT);
    const permits = await process.take(4);
    process.isAway = true;
    permits.claimed(0);
    await bed.clock.advance(5000);
    expect(process.calls.length).toBeLessThan(25);
  });

  it('tells whoever waits once a delivery has ended', async () => {
    const process = limited(FLIGHT);
    const permits = await process.take(4);
    const waiting = new Partition();
    expect((await process.take(1, waiting)).count).toBe(0);
    permits.ended();
    expect(waiting.looks).toBe(1);
  });

  it('renews permits to be in flight three times a lease, and they end if that fails', async () => {
    const process = limited(FLIGHT);
    const permits = await process.take(4);
    expect(permits.endsAt).toBe(bed.clock.now() + LEASE);
    await bed.clock.advance(LEASE);
    expect(process.calls).toHaveLength(4);
    expect(permits.endsAt).toBeGreaterThan(bed.clock.now() + LEASE / 2);

    process.isAway = true;
    const end = permits.endsAt;
    await bed.clock.advance(LEASE);
    expect(permits.endsAt).toBe(end);
  });

  it('has nothing any more of what was over before its renewal was answered, in use or not', async () => {
    const [a, b] = [limited(FLIGHT), limited(FLIGHT)];
    const permits = await a.take(4);
    const end = permits.endsAt;
    await bed.clock.advance(LEASE / 3 - 1);
    for (let n = 0; n < 3; n++) permits.ended();
    a.isDeaf = true;
    await bed.clock.advance(LEASE * 1.5);
    expect((await b.take(4)).count).toBe(4);

    a.isDeaf = false;
    await bed.clock.advance(3000);
    permits.ended();
    expect((await a.take(4)).count).toBe(0);
    expect(permits.endsAt).toBe(end);
    expect(a.calls.at(-1)).toMatchObject({ held: 0 });
  });

  it('uses nothing that was permitted a lease ago, while it stood still', async () => {
    const process = limited(FLIGHT);
    process.onAnswer = () => bed.clock.moveTo(bed.clock.now() + LEASE);
    expect((await process.take(4)).count).toBe(0);
  });

  it('gives idle permits back after a while, and at once if another process wants them', async () => {
    const [a, b] = [limited(FLIGHT), limited(FLIGHT)];
    const permits = await a.take(4);
    for (let n = 0; n < 4; n++) permits.ended();
    await bed.clock.advance(500);
    expect(a.calls).toHaveLength(1);

    const waiting = new Partition();
    expect((await b.take(2, waiting)).count).toBe(0);
    await turns(5);
    expect(waiting.looks).toBe(1);
    expect((await b.take(2, waiting)).count).toBe(2);

    await bed.clock.advance(2000);
    expect(a.calls.at(-1)?.held).toBe(0);
  });

  it('keeps no more than its share while another process waits', async () => {
    const [a, b] = [limited(FLIGHT), limited(FLIGHT)];
    const permits = await a.take(4);
    const greedy = new Partition();
    expect((await a.take(4, greedy)).count).toBe(0);
    const waiting = new Partition();
    expect((await b.take(4, waiting)).count).toBe(0);
    await turns(5);
    for (let n = 0; n < 4; n++) {
      permits.ended();
      await a.take(4, greedy);
      await turns(5);
    }
    expect((await b.take(4, waiting)).count).toBe(2);
  });

  it('says when messages begin to wait, and when none do any more', async () => {
    const process = limited(RATE);
    await process.take(4);
    expect(process.limiter.limitedSince).toBeUndefined();
    const waiting = new Partition();
    await process.take(1, waiting);
    expect(process.limiter.limitedSince).toBe(bed.clock.now());
    await bed.clock.advance(11_000);
    await process.take(1, waiting);
    expect(process.limiter.limitedSince).toBeUndefined();
    expect(process.states).toEqual([true, false]);
  });

  it('asks again a moment after a call has failed', async () => {
    const process = limited(FLIGHT);
    process.isAway = true;
    const waiting = new Partition();
    const taken = process.take(1, waiting);
    await bed.clock.advance(100);
    // It keeps no slot while it waits for an answer.
    expect((await taken).count).toBe(0);
    process.isAway = false;
    await bed.clock.advance(2000);
    expect(waiting.looks).toBe(1);
    expect((await process.take(1, waiting)).count).toBe(1);
  });

  it('goes by other limits once they have changed', async () => {
    const process = limited(FLIGHT);
    await process.take(4);
    const waiting = new Partition();
    await process.take(1, waiting);
    process.limiter.change({ inFlight: { topic: 5 } });
    expect(waiting.looks).toBe(1);
    expect((await process.take(3, waiting)).count).toBe(1);
    process.limiter.change(undefined);
    expect(process.limiter.isLimited).toBe(false);
  });

  it('has nothing end that needs no permit any more, and renews nothing', async () => {
    const process = limited(FLIGHT);
    const permits = await process.take(4);
    process.limiter.change(undefined);
    const calls = process.calls.length;
    await bed.clock.advance(LEASE);
    expect(permits.endsAt).toBe(Infinity);
    expect(process.calls).toHaveLength(calls);
  });

  it('tells of other limits at once, though it asks for nothing', async () => {
    const process = limited(FLIGHT);
    (await process.take(4)).claimed(4);
    process.limiter.change({ inFlight: { topic: 3 } });
    await turns(3);
    expect(process.calls.at(-1)).toMatchObject({ limits: { inFlight: 3 }, held: 4, wanted: 0 });
  });

  it('gives back what it has when it stops, and nobody else has to wait for its lease', async () => {
    const [a, b] = [limited(FLIGHT), limited(FLIGHT)];
    const permits = await a.take(4);
    a.limiter.leave();
    expect((await a.take(1)).count).toBe(0);
    permits.claimed(0);
    await a.limiter.stop();
    expect((await b.take(4)).count).toBe(4);
  });
});
