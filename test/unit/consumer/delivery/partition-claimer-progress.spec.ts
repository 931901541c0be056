import { describe, expect, it } from 'vitest';
import type { ClaimResult } from '../../../../lib/store/deliveries/claim.js';
import { ClaimBed, OWNER, PAUSED, claimed, idle } from '../../../support/units/claim-bed.js';
import { turns } from '../../../support/units/test-claimant.js';

describe('a claimer that was told that the topic is paused', () => {
  it.each([
    { what: 'something waits', nextAt: 0, expected: 4 },
    { what: 'nothing waits', nextAt: undefined, expected: 0 },
  ])('looks four times a minute whether the signal of the resume is lost, if $what', async ({ nextAt, expected }) => {
    const { bed } = await idle({ ...PAUSED, nextAt } as ClaimResult);
    for (let second = 0; second < 60; second++) {
      await bed.clock.advance(1000);
      if (bed.claims.length > 1) bed.claimOf('jobs').answer({ ...PAUSED, nextAt } as ClaimResult);
    }
    expect(bed.claims.length - 1).toBe(expected);
  });
});

describe('PartitionClaimer', () => {
  describe('without an answer', () => {
    it('says since when, and when it last was', async () => {
      const bed = new ClaimBed();
      const startedAt = bed.clock.now();
      const claimer = bed.claimer('jobs');
      claimer.start();
      await bed.clock.advance(300);
      expect(claimer.progress).toEqual({
        partition: 0,
        answeredAt: startedAt,
        unansweredSince: startedAt,
        failedAt: undefined,
        saturated: false,
        limited: false,
      });
      bed.claimOf('jobs').answer(claimed(1, bed.clock.now() + 500));
      await bed.clock.advance(500);
      const sentAt = bed.clock.now();
      await bed.clock.advance(200);
      expect(claimer.progress).toMatchObject({ answeredAt: startedAt, unansweredSince: sentAt });
      bed.claimOf('jobs').answer(claimed(0));
      await turns();

      expect(claimer.progress).toMatchObject({ answeredAt: sentAt, unansweredSince: undefined });
    });

    it('sends the same claim again when told to, without slots, and drops what comes of the first', async () => {
      const bed = new ClaimBed();
      const claimer = bed.claimer('jobs');
      claimer.start();
      const first = bed.claimOf('jobs');
      claimer.retry();
      await bed.clock.advance(25);
      expect(bed.claims.map(({ max, sequence, delivered }) => ({ max, sequence, delivered }))).toEqual([
        { max: 16, sequence: 1, delivered: 0 },
        { max: 0, sequence: 1, delivered: 0 },
      ]);
      first.answer(claimed(5));
      await turns();
      expect(bed.pool.used).toBe(0);
      bed.claimOf('jobs').answer(claimed(2));
      await turns();

      expect(bed.pool.used).toBe(2);
      expect(bed.errors).toEqual([]);
    });

    it('does nothing when told so where no claim is under way', async () => {
      const bed = new ClaimBed();
      const claimer = bed.claimer('jobs');
      claimer.start();
      bed.claimOf('jobs').answer(claimed(0));
      await turns();
      claimer.retry();
      await bed.clock.advance(1000);

      expect(bed.claims).toHaveLength(1);
    });

    it('is saturated where it gets no slots', async () => {
      const bed = new ClaimBed(1);
      const [first, second] = [bed.claimer('first'), bed.claimer('second')];
      first.start();
      second.start();

      expect([first, second].map(({ progress }) => progress.saturated)).toEqual([false, true]);
    });
  });

  it('numbers its claims, and says how many deliveries it has made', async () => {
    const { bed, claimer } = await idle(claimed(3));
    claimer.wake(bed.clock.now());
    await bed.clock.advance(1);

    expect(bed.claims.map(({ owner, sequence, delivered }) => ({ owner, sequence, delivered }))).toEqual([
      { owner: OWNER, sequence: 1, delivered: 0 },
      { owner: OWNER, sequence: 2, delivered: 3 },
    ]);
  });

  it('tells what is stored of the owner, if it is another one', async () => {
    const { bed, claimer } = await idle({ status: 'not-owner', owner: 'epoch2 other' });
    await claimer.stop();

    expect(bed.lost).toEqual(['epoch2 other']);
    expect(bed.pool.used).toBe(0);
  });
});
