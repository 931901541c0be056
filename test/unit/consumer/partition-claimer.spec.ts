import { describe, expect, it } from 'vitest';
import { type ClaimResult, MAX_BATCH } from '../../../lib/broker/broker.interface.js';
import { BrokerUnavailableError } from '../../../lib/errors/broker-unavailable.error.js';
import { type PendingClaim, ClaimBench, claimed } from './support/claim-bench.js';
import { turns } from './support/test-claimant.js';

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
  it('has it logged when the partition is paused, and when it goes on', async () => {
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

    expect(bench.pauses).toEqual(["Topic 'jobs' is paused", "Topic 'jobs' goes on"]);
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
});
