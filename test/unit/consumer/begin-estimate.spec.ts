import { describe, expect, it } from 'vitest';
import { BeginEstimate } from '../../../lib/consumer/begin-estimate.js';

/** What is asked for, answered and ready so many milliseconds later, again and again. */
function after(way: number, delay: number, times = 1): BeginEstimate {
  const estimate = new BeginEstimate();
  for (let i = 0; i < times; i++) {
    const { lead, slack } = estimate.window;
    const begin = estimate.timesOf({ from: lead, until: lead + slack }, lead, 1000);
    estimate.ready(begin, 1000 + way);
    estimate.began(delay);
  }
  return estimate;
}

describe('when deliveries are to begin', () => {
  it('is at once where nothing was measured, or no way', () => {
    expect(new BeginEstimate().window).toEqual({ lead: 0, slack: 50 });
    expect(after(0, 0, 200).window).toEqual({ lead: 0, slack: 20 });
  });

  it('follows the way at once, and a little more', () => {
    expect(after(300, 0).window.lead).toBe(360);
  });

  it('lets them begin for as long as the event loop keeps them waiting', () => {
    expect(after(0, 100).window.slack).toBe(120);
  });

  it('forgets a way that was long once', () => {
    const estimate = after(1500, 1000);
    for (let i = 0; i < 200; i++) {
      const { lead, slack } = estimate.window;
      const begin = estimate.timesOf({ from: lead, until: lead + slack }, lead, 0);
      estimate.ready(begin, 10);
      estimate.began(1);
    }
    expect(estimate.window.lead).toBeLessThan(20);
    expect(estimate.window.slack).toBe(20);
  });

  it('is not without bounds', () => {
    const { lead, slack } = after(10_000_000, 10_000_000).window;
    expect(lead + slack).toBeLessThanOrEqual(60_000);
  });
});
