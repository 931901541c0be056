import { describe, expect, it } from 'vitest';
import { type ClaimResult, SHARES_FROM } from '../../../../lib/store/deliveries/claim.js';
import { Receivers } from '../../../../lib/consumer/pulling/receivers.js';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { MAX_BATCH } from '../../../../lib/store/partition.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import { type PendingClaim, ClaimBed, claimed, idle } from '../../../support/units/claim-bed.js';
import { testContext, testRegistry } from '../../../support/units/handling.js';
import { turns } from '../../../support/units/test-claimant.js';

/** Two claimers of a handler that have asked for slots. */
function startBoth() {
  const bed = new ClaimBed();
  const [earlier, later] = [bed.claimer('earlier'), bed.claimer('later', { priority: 1 })];
  earlier.start();
  later.start();
  expect(bed.claimed).toEqual(['earlier']);
  return { bed, earlier, later };
}

describe('PartitionClaimer', () => {
  it('has it logged when the partition is paused, and when it goes on', async () => {
    const bed = new ClaimBed();
    const claimer = bed.claimer('jobs');
    claimer.start();
    const answers: ClaimResult['status'][] = ['claimed', 'claimed', 'paused', 'paused', 'claimed'];
    for (const [i, status] of answers.entries()) {
      bed.claimOf('jobs').answer({ ...claimed(0), status } as ClaimResult);
      await turns();
      claimer.wake(bed.clock.now());
      await bed.clock.advance(1);
      await turns();
      expect(bed.claims).toHaveLength(i + 2);
    }

    expect(bed.pauses).toEqual(["Topic 'jobs' is paused", "Topic 'jobs' goes on"]);
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
      const bed = new ClaimBed();
      bed.claimer('jobs', { batch }).start();
      expect(bed.claims.map(({ max }) => max)).toEqual([first]);
      expect(bed.pool.used).toBe(first / batch);
      bed.claimOf('jobs').answer(claimed(first, bed.clock.now()));
      await turns();

      expect(bed.claims.map(({ max }) => max)).toEqual([first, later]);
      expect(later).toBeLessThanOrEqual(MAX_BATCH);
    },
  );

  it('has slots at once for as much as claims have brought in a row, as far as many are free', async () => {
    const { bed, claimer } = await idle(claimed(16, 0));
    bed.claimOf('jobs').answer(claimed(34));
    await turns();
    bed.slots.release(50);
    claimer.wake(0);
    expect(bed.claims.map(({ max }) => max)).toEqual([16, 200, 50]);

    const [taken] = [bed.slots.takeNow(850)];
    bed.claimOf('jobs').answer(claimed(0));
    await turns();
    claimer.wake(0);
    expect(bed.claims.at(-1)?.max).toBe(Math.floor((1000 - taken) / 4));
  });

  it.each([
    { of: 'all processes know such records', agreement: 'alike', shares: true },
    { of: 'some do not', agreement: 'apart', shares: false },
    { of: 'its messages are received', agreement: 'alike', received: true, shares: false },
  ] as const)('shares the record of its first deliveries or not, since $of', async ({ agreement, shares, ...more }) => {
    const bed = new ClaimBed();
    const { clock } = bed;
    const { fleet } = new EmbeddedBroker(clock);
    const topics = testRegistry(testContext(), { store: { fleet } });
    await topics.partitions('jobs');
    topics.fleetIs(agreement);
    const destination = 'received' in more && { destination: new Receivers(clock, bed.slots, async () => {}) };
    bed.claimer('jobs', { instead: { topics, ...destination } }).start();

    expect(bed.claims.map(({ sharesFrom }) => sharesFrom)).toEqual([shares ? SHARES_FROM : undefined]);
  });

  it('is told of the next claim earlier by half of what a call takes', async () => {
    const bed = new ClaimBed();
    const claimer = bed.claimer('jobs');
    claimer.start();
    await bed.clock.advance(40);
    bed.claimOf('jobs').answer(claimed(0));
    await turns();
    claimer.wake(0);
    const [first, second] = bed.claims.map(({ begin }) => begin?.ahead ?? NaN) as [number, number];
    expect(second).toBe(first + 20);
  });

  it('claims no more than it has slots for', () => {
    const bed = new ClaimBed(4);
    bed.claimer('jobs', { batch: 5 }).start();

    expect(bed.claims.map(({ max }) => max)).toEqual([10]);
  });

  it('gives back the slots that what it got does not need', async () => {
    const bed = new ClaimBed();
    bed.claimer('jobs', { batch: 4 }).start();
    expect(bed.pool.used).toBe(4);
    bed.claimOf('jobs').answer(claimed(5));
    await turns();

    expect(bed.pool.used).toBe(2);
    expect(bed.claims).toHaveLength(1);
  });

  describe('holds the later topic of its handler back', () => {
    it('until it is answered that nothing is due', async () => {
      const { bed } = startBoth();
      await turns();
      expect(bed.claimed).toEqual(['earlier']);
      bed.claimOf('earlier').answer(claimed(3, bed.clock.now() + 1000));
      await turns();

      expect(bed.claimed).toEqual(['earlier', 'later']);
    });

    it('while there is more', async () => {
      const { bed } = startBoth();
      for (let claim = 1; claim <= 4; claim++) {
        expect(bed.claimed).toEqual(Array(claim).fill('earlier'));
        bed.claimOf('earlier').answer(claimed(2, bed.clock.now()));
        await turns();
      }
      bed.claimOf('earlier').answer(claimed(0));
      await turns();

      expect(bed.claimed.at(-1)).toBe('later');
    });

    it('again when something falls due', async () => {
      const { bed, later } = startBoth();
      bed.claimOf('earlier').answer(claimed(1, bed.clock.now() + 1000));
      await turns();
      bed.claimOf('later').answer(claimed(1));
      await turns();
      await bed.clock.advance(1000);
      later.wake(bed.clock.now());
      await turns();

      expect(bed.claimed).toEqual(['earlier', 'later', 'earlier']);
    });

    it('if both fall due at once, whichever timer is the first', async () => {
      const { bed, earlier } = startBoth();
      const at = bed.clock.now() + 1000;
      bed.claimOf('earlier').answer(claimed(0));
      await turns();
      bed.claimOf('later').answer(claimed(0, at));
      await turns();
      earlier.wake(at);
      await bed.clock.advance(1000);
      expect(bed.claimed).toEqual(['earlier', 'later', 'earlier']);
      bed.claimOf('earlier').answer(claimed(1));
      await turns();

      expect(bed.claimed).toEqual(['earlier', 'later', 'earlier', 'later']);
    });

    it.each<{ what: string; end: (claim: PendingClaim) => void }>([
      { what: 'is paused', end: ({ answer }) => answer({ ...claimed(0), status: 'paused' } as ClaimResult) },
      { what: 'belongs to another process', end: ({ answer }) => answer({ status: 'not-owner', owner: undefined }) },
      { what: 'cannot be claimed from', end: ({ fail }) => fail(new Error('a bug')) },
      { what: 'cannot be reached', end: ({ fail }) => fail(new BrokerUnavailableError('gone', { transient: true })) },
    ])('no longer where its partition $what', async ({ end }) => {
      const { bed } = startBoth();
      end(bed.claimOf('earlier'));
      await turns();

      expect(bed.claimed).toEqual(['earlier', 'later']);
    });

    it('no longer once it is stopped, be it answered or not', async () => {
      const { bed, earlier } = startBoth();
      const stopped = earlier.stop();
      await turns();
      expect(bed.claimed).toEqual(['earlier', 'later']);
      // More is due, but that is the next owner's.
      bed.claimOf('earlier').answer(claimed(16, bed.clock.now()));
      await stopped;
      await turns();
      bed.claimOf('later').answer(claimed(16, bed.clock.now()));
      await turns();

      expect(bed.claimed).toEqual(['earlier', 'later', 'later']);
    });

    it('again where there is more once it can be reached', async () => {
      const { bed } = startBoth();
      bed.claimOf('earlier').fail(new BrokerUnavailableError('gone', { transient: true }));
      await bed.clock.advance(25);
      expect(bed.claimed).toEqual(['earlier', 'later', 'earlier']);
      bed.claimOf('earlier').answer(claimed(16, bed.clock.now()));
      await turns();
      bed.claimOf('later').answer(claimed(16, bed.clock.now()));
      await turns();

      expect(bed.claimed).toEqual(['earlier', 'later', 'earlier', 'earlier']);
    });
  });
});
