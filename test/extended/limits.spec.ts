import { describe, expect, it } from 'vitest';
import { groupBy } from '../fleet/faults/history/group-by.js';
import { type LimitedRun, type TestedLimits, tooFast, tooManyAtOnce } from '../fleet/faults/history/limits.js';
import { TIMING } from '../fleet/faults/world.js';
import { report } from '../support/readings/statistics.js';
import { until } from '../support/waiting.js';
import { PROCESSES, useLimitedFleet } from './limited-fleet.js';

/** Records are in whole milliseconds. */
const GRAIN = 1;

describe('the limits of a fleet of four processes', () => {
  const fleet = useLimitedFleet();

  it('a rate: no second has more calls than may begin, and nearly as many do', { timeout: 120_000 }, async () => {
    const limits: TestedLimits = { rateLimit: { max: 50, per: 1000 } };
    const { world } = fleet();
    await fleet().start(limits);
    await world.pause(20_000);
    const all = fleet().runs();
    const used = usedOf(all, 50, 1000);
    const shares = world.consumers.map((name) => world.recorded(name, 'delivery-started'));
    report(`rate of 50 a second, 4 processes: ${(used * 100).toFixed(1)} % used, calls of each ${shares.join(', ')}`);

    expect(tooFast(all, limits, GRAIN)).toEqual([]);
    expect(used).toBeGreaterThanOrEqual(0.9);
    expect(Math.min(...shares)).toBeGreaterThan(0.5 * Math.max(...shares));
  });

  it('a rate of 100 keys: the same for each key', { timeout: 120_000 }, async () => {
    const limits: TestedLimits = { rateLimit: { max: 5, per: 1000, by: 'key' } };
    const { world } = fleet();
    await fleet().start(limits, {}, { keys: 100 });
    await world.pause(12_000);
    const all = fleet().runs();
    const byKey = groupBy(all, ({ key }) => key);
    const used = Array.from(byKey.values(), (ofKey) => usedOf(ofKey, 5, 1000));
    const average = used.reduce((sum, one) => sum + one, 0) / used.length;
    report(
      `rate of 5 a second and key, 100 keys: ${(average * 100).toFixed(1)} % used, of a key at least ${(Math.min(...used) * 100).toFixed(1)} %`,
    );

    expect(tooFast(all, limits, GRAIN)).toEqual([]);
    expect(byKey.size).toBe(100);
    expect(average).toBeGreaterThanOrEqual(0.9);
  });

  it(
    'what is in flight: never more than may, and as many again within the lease after a kill',
    { timeout: 120_000 },
    async () => {
      const limits: TestedLimits = { maxInFlight: { topic: 10 } };
      const { world } = fleet();
      await fleet().start(limits, { ...TIMING, handlerTime: 400 });
      await until('100 calls', () => fleet().started().length >= 100, 30_000);
      await world.pause(2000);
      const killedAt = world.now();
      const [victim = ''] = world.consumers;
      await world.program(victim).kill();
      await world.pause(TIMING.lease + 3000);
      const all = fleet()
        .runs()
        .map((run) => {
          const wasKilled =
            run.to === Infinity && world.recordsOf(victim).some((record) => 'id' in record && record.id === run.id);
          return wasKilled && run.from <= killedAt ? { ...run, to: killedAt } : run;
        });

      expect(tooManyAtOnce(all, limits)).toEqual([]);
      const atOnce = (at: number): number => all.filter(({ from, to }) => from <= at && to > at).length;
      const begins = all.map(({ from }) => from).toSorted((a, b) => a - b);
      const full = begins.find((at) => at > killedAt + 50 && atOnce(at) === 10) ?? Infinity;
      report(`10 in flight again ${full - killedAt} ms after a SIGKILL, with a lease of ${TIMING.lease} ms`);
      expect(Math.max(...begins.map(atOnce))).toBe(10);
      // The permits of the dead one end with their lease; on a busy host it takes a moment to use them.
      expect(full - killedAt).toBeLessThanOrEqual(TIMING.lease + 300);
    },
  );

  it(
    'a rate limit that a handler meets: nothing begins for that time, and then all goes on',
    { timeout: 60_000 },
    async () => {
      const id = `p${PROCESSES + 2}-50`;
      const { world } = fleet();
      await fleet().start({}, { meetsLimit: { id, delay: 2000 } }, { count: 100 });
      await until('the backlog to be handled', () => fleet().started().length >= 100, 30_000);
      await world.startProducer({ rate: 300, maxDelay: 0, cancellations: 0 });
      await until(
        'the message',
        () =>
          fleet()
            .started()
            .some((record) => record.id === id),
        10_000,
      );
      await world.pause(4000);
      await world.endProducers();
      const times = fleet()
        .started()
        .map(({ at }) => at)
        .toSorted((a, b) => a - b);
      const gaps = times.slice(1).map((at, i) => at - (times[i] as number));
      const longest = Math.max(...gaps);
      report(`a hold of 2 s: nothing began for ${longest} ms`);

      expect(longest).toBeGreaterThanOrEqual(1950);
      expect(longest).toBeLessThan(2600);
    },
  );
});

/** How much of what a rate allows was used, between the first and the last call. */
function usedOf(runs: readonly LimitedRun[], max: number, per: number): number {
  const begins = runs.map(({ from }) => from);
  return begins.length / (Math.floor((Math.max(...begins) - Math.min(...begins)) / per) + 1) / max;
}
