import { describe, expect, it } from 'vitest';
import { BeginEstimate, whenPermitted } from '../../../../lib/consumer/admission/begin-estimate.js';
import { Permits } from '../../../../lib/consumer/admission/permits.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { beginTimes } from '../../../support/units/begin-times.js';

/** What is asked for, answered and ready so many milliseconds later, again and again. */
function after(way: number, delay: number, times = 2, estimate = new BeginEstimate()): BeginEstimate {
  for (let i = 0; i < times; i++) {
    const from = i * Math.max(way, delay);
    estimate.ready(from, from + way);
    estimate.began(from, from + delay);
  }
  return estimate;
}

describe('when deliveries are to begin', () => {
  it('is at once where nothing was measured, or no way', () => {
    expect(new BeginEstimate().window).toMatchObject({ lead: 0, slack: 50 });
    expect(after(0, 0, 200).window).toMatchObject({ lead: 0, slack: 20 });
  });

  it('follows a way that was measured twice, and a little more', () => {
    expect(after(300, 0, 1).window.lead).toBe(0);
    expect(after(300, 0).window.lead).toBe(360);
  });

  it('does not follow a standstill of the process, however much was under way', () => {
    const estimate = after(10, 10, 200);
    const { lead, slack } = estimate.window;
    for (let i = 0; i < 50; i++) {
      estimate.ready(10_000 + i, 15_000);
      estimate.began(10_000 + i, 15_000);
    }
    estimate.ready(15_000, 15_010);
    estimate.began(15_000, 15_010);

    expect(estimate.window).toMatchObject({ lead, slack });
  });

  it('follows a process that stands still again and again', () => {
    expect(after(1000, 0, 3, after(10, 10, 200)).window.lead).toBe(1200);
  });

  it('lets them begin for as long as the event loop keeps them waiting, and has the next call made so much earlier', () => {
    expect(after(0, 100).window).toMatchObject({ slack: 120, ahead: 100 });
  });

  it('has a claim made earlier by half of what a call takes at least', () => {
    const estimate = after(0, 100);
    for (const duration of [900, 300, 305]) estimate.answered(duration);
    expect(estimate.claimWindow).toMatchObject({ slack: 120, ahead: 250 });
  });

  it('forgets a way that was long once', () => {
    const { lead, slack } = after(10, 1, 300, after(1500, 1000)).window;
    expect(lead).toBeLessThan(20);
    expect(slack).toBe(20);
  });

  it('is not without bounds', () => {
    const { lead, slack } = after(10_000_000, 10_000_000).window;
    expect(lead + slack).toBeLessThanOrEqual(60_000);
  });
});

describe('what was permitted together', () => {
  it('counts as one measurement, by its first call', async () => {
    const clock = new ManualClock(0);
    const estimate = after(1000, 200, 200);
    const delivery = { begin: [beginTimes({ from: 100, until: 150 }, estimate)] };
    const calls = Array.from({ length: 50 }, async () => whenPermitted(clock, [delivery]));
    await clock.advance(100);
    await Promise.all(calls);

    expect(estimate.window).toMatchObject({ lead: Math.ceil(950 * 1.2), slack: Math.ceil(190 * 1.2) });
  });

  it('counts as measured if it is over before anything was claimed for it', () => {
    const estimate = new BeginEstimate();
    estimate.ready(-50, 0);
    const begin = beginTimes({ from: 0, until: 20 }, estimate);
    const permits = new Permits(
      { unused: () => {}, ended: () => {} },
      { count: 1, permittedAt: 1, begin, term: undefined },
    );

    expect(permits.mayBegin(20)).toBe(true);
    expect(estimate.window.lead).toBe(0);
    expect(permits.mayBegin(50)).toBe(false);
    expect(estimate.window.lead).toBe(60);
  });
});
