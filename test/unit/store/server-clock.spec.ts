import { describe, expect, it } from 'vitest';
import { ServerClock } from '../../../lib/store/server-clock.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

/** A server whose clock is `offset` ahead, and an exchange with it that takes a given time each way. */
class Exchange {
  readonly local = new ManualClock(1_000_000);
  steps = 0;
  readonly clock = new ServerClock(this.local, () => this.steps++);
  offset = 0;

  async observe(there: number, back: number): Promise<void> {
    const sentAt = this.local.now();
    await this.local.advance(there);
    const serverTime = this.local.now() + this.offset;
    await this.local.advance(back);
    this.clock.observe(serverTime, sentAt);
  }

  /** The error of the estimate. */
  get error(): number {
    return this.clock.now() - (this.local.now() + this.offset);
  }
}

describe('ServerClock', () => {
  it('assumes its own time for the server before the first reply', () => {
    const exchange = new Exchange();

    expect(exchange.clock.now()).toBe(exchange.local.now());
  });

  for (const offset of [0, 5000, -5000, 0.25, 86_400_000]) {
    it(`knows a server whose clock is ${offset} ms ahead after one exchange`, async () => {
      const exchange = new Exchange();
      exchange.offset = offset;

      await exchange.observe(1, 1);

      expect(exchange.error).toBeCloseTo(0, 6);
      await exchange.local.advance(60_000);
      expect(exchange.error).toBeCloseTo(0, 6);
    });
  }

  it('is never off by more than half the round trip', async () => {
    for (const [there, back] of [
      [10, 0],
      [0, 10],
      [7, 3],
    ] as const) {
      const exchange = new Exchange();
      exchange.offset = 1234;
      await exchange.observe(there, back);

      expect(Math.abs(exchange.error)).toBeLessThanOrEqual((there + back) / 2);
    }
  });

  it('keeps the tighter of two estimates', async () => {
    const exchange = new Exchange();
    exchange.offset = 1000;
    await exchange.observe(1, 1);
    await exchange.observe(50, 0);

    expect(exchange.error).toBeCloseTo(0, 6);
  });

  it('replaces a looser estimate by a tighter one', async () => {
    const exchange = new Exchange();
    exchange.offset = 1000;
    await exchange.observe(0, 40);
    expect(exchange.error).not.toBeCloseTo(0, 6);

    await exchange.observe(1, 1);

    expect(exchange.error).toBeCloseTo(0, 6);
  });

  it('follows a server clock that was set, forwards or back, at once', async () => {
    for (const jump of [60_000, -60_000, 500]) {
      const exchange = new Exchange();
      await exchange.observe(1, 1);
      exchange.offset += jump;

      await exchange.observe(2, 2);

      expect(Math.abs(exchange.error)).toBeLessThanOrEqual(2);
    }
  });

  it('tells of a step of a millisecond or more, in either direction and little by little', async () => {
    const exchange = new Exchange();
    await exchange.observe(0.1, 0.1);
    expect(exchange.steps).toBe(0);
    for (const [jump, steps] of [
      [60_000, 1],
      [-60_000, 2],
      [0.6, 2],
      [0.6, 3],
    ] as const) {
      exchange.offset += jump;
      await exchange.observe(0.1, 0.1);
      expect(exchange.steps).toBe(steps);
    }
  });

  it('takes a clock for the like of another one until its first reply', async () => {
    const exchange = new Exchange();
    exchange.offset = 5000;
    await exchange.observe(1, 1);
    const other = new ServerClock(exchange.local, () => {}, exchange.clock);
    expect(other.now()).toBe(exchange.local.now() + 5000);
    expect(other.isMeasured).toBe(false);

    other.observe(exchange.local.now() + 7000, exchange.local.now());
    expect(other.now()).toBe(exchange.local.now() + 7000);
    expect(other.isMeasured).toBe(true);
  });

  it('follows a clock that drifts, since old estimates count less', async () => {
    const exchange = new Exchange();
    await exchange.observe(0.1, 0.1);
    for (let hour = 0; hour < 48; hour++) {
      await exchange.local.advance(3_600_000);
      exchange.offset += 180; // 50 ppm
      await exchange.observe(1, 1);
      expect(Math.abs(exchange.error)).toBeLessThanOrEqual(1.001);
    }
  });
});
