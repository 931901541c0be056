import { describe, expect, it } from 'vitest';
import type { ClaimResult } from '../../../lib/broker/broker.interface.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { ClaimBed, PAUSED, claimed, idle } from '../../support/units/claim-bed.js';
import { turns } from '../../support/units/test-claimant.js';

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
        saturated: false,
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

    it('sends the same claim again when told to, and drops what comes of the first', async () => {
      const bed = new ClaimBed();
      const claimer = bed.claimer('jobs');
      claimer.start();
      const first = bed.claimOf('jobs');
      claimer.retry();
      await bed.clock.advance(25);
      expect(bed.claims.map(({ max, knownToken }) => ({ max, knownToken }))).toEqual([
        { max: 16, knownToken: 0 },
        { max: 16, knownToken: 0 },
      ]);
      first.answer(claimed(5));
      await turns();
      expect(bed.pool.used).toBe(16);
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

  describe('with the earliest due time', () => {
    const GRACE = 100;

    it('claims, and knows of a lost signal where that was over for longer than the grace', async () => {
      const { bed, claimer } = await idle(claimed(0));
      const dueAt = bed.clock.now();
      await bed.clock.advance(GRACE + 1);

      expect(claimer.notice(dueAt, GRACE)).toBe(true);
      expect(bed.claims).toHaveLength(2);
    });

    it.each([
      { what: 'a signal may still be on its way', late: GRACE, answer: () => claimed(0) },
      { what: 'nothing is due yet', late: -500, answer: () => claimed(0) },
      { what: 'it was told that the topic is paused', late: 500, answer: (): ClaimResult => ({ ...PAUSED }) },
    ])('knows of none where $what', async ({ late, answer }) => {
      const { bed, claimer } = await idle(answer());

      expect(claimer.notice(bed.clock.now() - late, GRACE)).toBe(false);
    });

    it('knows of none while it claims, or waits for slots', async () => {
      const bed = new ClaimBed(1);
      const [first, second] = [bed.claimer('first'), bed.claimer('second')];
      first.start();
      second.start();
      const dueAt = bed.clock.now() - 500;

      expect([first, second].map((claimer) => claimer.notice(dueAt, GRACE))).toEqual([false, false]);
    });

    it('reports none if its timer is set for that time and the event loop was blocked', async () => {
      const now = new ManualClock().now();
      const { bed, claimer } = await idle(claimed(0, now + 1000));
      bed.brokerAhead = 2000;

      expect(claimer.notice(now + 1000, GRACE)).toBe(false);
      expect(bed.claims).toHaveLength(1);
    });
  });
});
