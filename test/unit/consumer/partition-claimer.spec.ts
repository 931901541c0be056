import { describe, expect, it } from 'vitest';
import {
  type Broker,
  type ClaimRequest,
  type ClaimResult,
  type ClaimedMessage,
  MAX_BATCH,
} from '../../../lib/broker/broker.interface.js';
import { ManualClock } from '../../../lib/common/manual-clock.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import { PartitionClaimer } from '../../../lib/consumer/partition-claimer.js';
import { WorkerGroup } from '../../../lib/consumer/worker-group.js';
import { WorkerPool } from '../../../lib/consumer/worker-pool.js';
import { BrokerUnavailableError } from '../../../lib/errors/broker-unavailable.error.js';
import { turns } from './support/test-claimant.js';

/** A claim that was sent, and waits for its answer. */
interface PendingClaim extends ClaimRequest {
  readonly topic: string;
  readonly answer: (result: ClaimResult) => void;
  readonly fail: (error: Error) => void;
}

/** Claimers of one handler; the test answers their claims. */
class ClaimBench {
  readonly clock = new ManualClock();
  readonly pool = new WorkerPool(1000);
  readonly group: WorkerGroup;
  readonly claims: PendingClaim[] = [];
  readonly errors: unknown[] = [];
  readonly pauses: boolean[] = [];
  lost = 0;
  /** How far the broker's clock is ahead, in milliseconds. */
  brokerAhead = 0;
  readonly #context: ConsumerContext;

  constructor(limit = 1000) {
    this.group = new WorkerGroup(limit);
    const broker: Pick<Broker, 'now' | 'claim'> = {
      now: () => this.clock.now() + this.brokerAhead,
      claim: async ({ topic }, request) =>
        new Promise((resolve, reject) => this.claims.push({ ...request, topic, answer: resolve, fail: reject })),
    };
    this.#context = {
      broker: broker as Broker,
      clock: this.clock,
      log: { log: () => {}, warn: () => {}, error: (message) => this.errors.push(message) },
      events: { wants: () => false, emit: () => {} },
      member: 'me',
    };
  }

  /** Every message takes `1 / batch` of a slot, as in full batches. */
  claimer(topic: string, { batch = 1, priority = 0 } = {}): PartitionClaimer {
    const { pool, group } = this;
    return new PartitionClaimer({
      context: this.#context,
      partition: { topic, index: 0 },
      pool,
      group,
      priority,
      batch,
      lease: 30_000,
      token: 0,
      onMessages: (messages) => Math.ceil(messages.length / batch),
      onPause: (paused) => this.pauses.push(paused),
      onLost: () => this.lost++,
    });
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

function claimed(count: number, nextAt?: number): ClaimResult {
  const messages = Array.from({ length: count }, (_, i): ClaimedMessage => ({
    storedId: `m${i}`,
    envelope: '[1,2]',
    token: i + 1,
    delivery: 1,
    attempt: 1,
    dueAt: 0,
  }));
  return { status: 'claimed', messages, token: count, nextAt, repaired: 0 };
}

/** What a claim is told where the topic is paused. */
const PAUSED: ClaimResult = { ...claimed(0), status: 'paused' } as ClaimResult;

/** A claimer whose first claim was answered. */
async function idle(answer: ClaimResult): Promise<{ bench: ClaimBench; claimer: PartitionClaimer }> {
  const bench = new ClaimBench();
  const claimer = bench.claimer('jobs');
  claimer.start();
  bench.claimOf('jobs').answer(answer);
  await turns();
  return { bench, claimer };
}

/** Two claimers of a handler that have asked for slots. */
function startBoth() {
  const bench = new ClaimBench();
  const [earlier, later] = [bench.claimer('earlier'), bench.claimer('later', { priority: 1 })];
  earlier.start();
  later.start();
  expect(bench.claimed).toEqual(['earlier']);
  return { bench, earlier, later };
}

describe('PartitionClaimer', () => {
  it('tells by its first claim whether the partition is paused, and then only of changes', async () => {
    const bench = new ClaimBench();
    const claimer = bench.claimer('jobs');
    claimer.start();
    const answers: ClaimResult['status'][] = ['claimed', 'claimed', 'paused', 'paused', 'claimed'];
    for (const [i, status] of answers.entries()) {
      bench.claimOf('jobs').answer({ ...claimed(0), status } as ClaimResult);
      await turns();
      claimer.wake(bench.clock.now());
      await bench.clock.advance(1);
      await turns();
      expect(bench.claims).toHaveLength(i + 2);
    }

    expect(bench.pauses).toEqual([false, true, false]);
  });

  it.each([
    { batch: 1, first: 16, later: 200 },
    { batch: 10, first: 20, later: 200 },
    { batch: 15, first: 30, later: 195 },
    { batch: 60, first: 60, later: 180 },
    { batch: 150, first: 150, later: 150 },
    { batch: 200, first: 200, later: 200 },
  ])(
    'claims full batches of $batch for its slots, more once it knows of a backlog',
    async ({ batch, first, later }) => {
      const bench = new ClaimBench();
      bench.claimer('jobs', { batch }).start();
      expect(bench.claims.map(({ max }) => max)).toEqual([first]);
      expect(bench.pool.used).toBe(first / batch);
      bench.claimOf('jobs').answer(claimed(first, bench.clock.now()));
      await turns();

      expect(bench.claims.map(({ max }) => max)).toEqual([first, later]);
      expect(later).toBeLessThanOrEqual(MAX_BATCH);
    },
  );

  it('claims no more than it has slots for', () => {
    const bench = new ClaimBench(2);
    bench.claimer('jobs', { batch: 5 }).start();

    expect(bench.claims.map(({ max }) => max)).toEqual([10]);
  });

  it('gives back the slots that what it got does not need', async () => {
    const bench = new ClaimBench();
    bench.claimer('jobs', { batch: 4 }).start();
    expect(bench.pool.used).toBe(4);
    bench.claimOf('jobs').answer(claimed(5));
    await turns();

    expect(bench.pool.used).toBe(2);
    expect(bench.claims).toHaveLength(1);
  });

  describe('holds the later topic of its handler back', () => {
    it('until it is answered that nothing is due', async () => {
      const { bench } = startBoth();
      await turns();
      expect(bench.claimed).toEqual(['earlier']);
      bench.claimOf('earlier').answer(claimed(3, bench.clock.now() + 1000));
      await turns();

      expect(bench.claimed).toEqual(['earlier', 'later']);
    });

    it('while there is more', async () => {
      const { bench } = startBoth();
      for (let claim = 1; claim <= 4; claim++) {
        expect(bench.claimed).toEqual(Array(claim).fill('earlier'));
        bench.claimOf('earlier').answer(claimed(2, bench.clock.now()));
        await turns();
      }
      bench.claimOf('earlier').answer(claimed(0));
      await turns();

      expect(bench.claimed.at(-1)).toBe('later');
    });

    it('again when something falls due', async () => {
      const { bench, later } = startBoth();
      bench.claimOf('earlier').answer(claimed(1, bench.clock.now() + 1000));
      await turns();
      bench.claimOf('later').answer(claimed(1));
      await turns();
      await bench.clock.advance(1000);
      later.wake(bench.clock.now());
      await turns();

      expect(bench.claimed).toEqual(['earlier', 'later', 'earlier']);
    });

    it.each<{ what: string; end: (claim: PendingClaim) => void }>([
      { what: 'is paused', end: ({ answer }) => answer({ ...claimed(0), status: 'paused' } as ClaimResult) },
      { what: 'belongs to another process', end: ({ answer }) => answer({ status: 'not-owner' }) },
      { what: 'cannot be claimed from', end: ({ fail }) => fail(new Error('a bug')) },
      { what: 'cannot be reached', end: ({ fail }) => fail(new BrokerUnavailableError('gone', { transient: true })) },
    ])('no longer where its partition $what', async ({ end }) => {
      const { bench } = startBoth();
      end(bench.claimOf('earlier'));
      await turns();

      expect(bench.claimed).toEqual(['earlier', 'later']);
    });

    it('no longer once it is stopped, be it answered or not', async () => {
      const { bench, earlier } = startBoth();
      const stopped = earlier.stop();
      await turns();
      expect(bench.claimed).toEqual(['earlier', 'later']);
      // More is due, but that is the next owner's.
      bench.claimOf('earlier').answer(claimed(16, bench.clock.now()));
      await stopped;
      await turns();
      bench.claimOf('later').answer(claimed(16, bench.clock.now()));
      await turns();

      expect(bench.claimed).toEqual(['earlier', 'later', 'later']);
    });

    it('again where there is more once it can be reached', async () => {
      const { bench } = startBoth();
      bench.claimOf('earlier').fail(new BrokerUnavailableError('gone', { transient: true }));
      await bench.clock.advance(25);
      expect(bench.claimed).toEqual(['earlier', 'later', 'earlier']);
      bench.claimOf('earlier').answer(claimed(16, bench.clock.now()));
      await turns();
      bench.claimOf('later').answer(claimed(16, bench.clock.now()));
      await turns();

      expect(bench.claimed).toEqual(['earlier', 'later', 'earlier', 'earlier']);
    });
  });

  describe('that is not answered', () => {
    it('says since when, and when it last was', async () => {
      const bench = new ClaimBench();
      const startedAt = bench.clock.now();
      const claimer = bench.claimer('jobs');
      claimer.start();
      await bench.clock.advance(300);
      expect(claimer.progress).toEqual({
        partition: 0,
        answeredAt: startedAt,
        unansweredSince: startedAt,
        saturated: false,
      });
      bench.claimOf('jobs').answer(claimed(1, bench.clock.now() + 500));
      await bench.clock.advance(500);
      const sentAt = bench.clock.now();
      await bench.clock.advance(200);
      expect(claimer.progress).toMatchObject({ answeredAt: startedAt, unansweredSince: sentAt });
      bench.claimOf('jobs').answer(claimed(0));
      await turns();

      expect(claimer.progress).toMatchObject({ answeredAt: sentAt, unansweredSince: undefined });
    });

    it('sends the same claim again when told to, and drops what comes of the first', async () => {
      const bench = new ClaimBench();
      const claimer = bench.claimer('jobs');
      claimer.start();
      const first = bench.claimOf('jobs');
      claimer.retry();
      await bench.clock.advance(25);
      expect(bench.claims.map(({ max, knownToken }) => ({ max, knownToken }))).toEqual([
        { max: 16, knownToken: 0 },
        { max: 16, knownToken: 0 },
      ]);
      first.answer(claimed(5));
      await turns();
      expect(bench.pool.used).toBe(16);
      bench.claimOf('jobs').answer(claimed(2));
      await turns();

      expect(bench.pool.used).toBe(2);
      expect(bench.errors).toEqual([]);
    });

    it('does nothing when told so where no claim is under way', async () => {
      const bench = new ClaimBench();
      const claimer = bench.claimer('jobs');
      claimer.start();
      bench.claimOf('jobs').answer(claimed(0));
      await turns();
      claimer.retry();
      await bench.clock.advance(1000);

      expect(bench.claims).toHaveLength(1);
    });

    it('is saturated where it gets no slots', async () => {
      const bench = new ClaimBench(1);
      const [first, second] = [bench.claimer('first'), bench.claimer('second')];
      first.start();
      second.start();

      expect([first, second].map(({ progress }) => progress.saturated)).toEqual([false, true]);
    });
  });

  describe('shown the earliest due time', () => {
    const GRACE = 100;

    it('claims, and knows of a lost signal where that was over for longer than the grace', async () => {
      const { bench, claimer } = await idle(claimed(0));
      const dueAt = bench.clock.now();
      await bench.clock.advance(GRACE + 1);

      expect(claimer.notice(dueAt, GRACE)).toBe(true);
      expect(bench.claims).toHaveLength(2);
    });

    it.each([
      { what: 'a signal may still be on its way', late: GRACE, answer: () => claimed(0) },
      { what: 'nothing is due yet', late: -500, answer: () => claimed(0) },
      { what: 'it was told that the topic is paused', late: 500, answer: (): ClaimResult => ({ ...PAUSED }) },
    ])('knows of none where $what', async ({ late, answer }) => {
      const { bench, claimer } = await idle(answer());

      expect(claimer.notice(bench.clock.now() - late, GRACE)).toBe(false);
    });

    it('knows of none while it claims, or waits for slots', async () => {
      const bench = new ClaimBench(1);
      const [first, second] = [bench.claimer('first'), bench.claimer('second')];
      first.start();
      second.start();
      const dueAt = bench.clock.now() - 500;

      expect([first, second].map((claimer) => claimer.notice(dueAt, GRACE))).toEqual([false, false]);
    });

    it('knows of none where its timer is set for then, and the event loop was blocked', async () => {
      const now = new ManualClock().now();
      const { bench, claimer } = await idle(claimed(0, now + 1000));
      bench.brokerAhead = 2000;

      expect(claimer.notice(now + 1000, GRACE)).toBe(false);
      expect(bench.claims).toHaveLength(1);
    });
  });
});
