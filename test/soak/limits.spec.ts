import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { groupBy } from '../fleet/faults/history/group-by.js';
import { type LimitedRun, type TestedLimits, tooFast, tooManyAtOnce } from '../fleet/faults/history/limits.js';
import type { ProcessRecord } from '../fleet/faults/history/records.js';
import type { ConsumerConfig, PublisherConfig } from '../fleet/faults/programs/config.js';
import { TIMING, World } from '../fleet/faults/world.js';
import { SeededRandom } from '../support/random.js';
import { report } from '../support/readings/statistics.js';
import { until } from '../support/waiting.js';

const PROCESSES = 4;
const BACKLOG = 5000;

/** The library's own values. Milliseconds. */
const DEFAULTS = { lease: 30_000, maxIdleWait: 5000 } as const;

/** Records are in whole milliseconds. */
const GRAIN = 1;

type Started = Extract<ProcessRecord, { kind: 'delivery-started' }>;

describe('the limits of a fleet of four processes', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.create(new SeededRandom(1), []);
  });

  afterEach(async () => {
    await world.close();
  });

  /** Publishes, and starts processes with the library's own settings, but for what the test says. */
  async function start(
    limits: TestedLimits,
    consumer: Partial<ConsumerConfig> = {},
    producer: Partial<PublisherConfig> = {},
  ): Promise<void> {
    world.limits = limits;
    const publisher = await world.startProducer({
      rate: BACKLOG,
      count: BACKLOG,
      maxDelay: 0,
      cancellations: 0,
      ...producer,
    });
    await world.program(publisher).exit();
    const settings = { ...DEFAULTS, concurrency: 100, handlerTime: 5, failures: 0, ...consumer };
    await Promise.all(Array.from({ length: PROCESSES }, async () => world.startConsumer(settings)));
  }

  function started(): Started[] {
    return world.records().filter((record) => record.kind === 'delivery-started');
  }

  /** The runs so far, with their keys. */
  function runs(): LimitedRun[] {
    const records = world.records();
    const keys = new Map(
      records.flatMap((record) => (record.kind === 'publish-confirmed' ? [[record.id, record.key ?? record.id]] : [])),
    );
    const ends = new Map(
      records.flatMap((record) =>
        record.kind === 'delivery-finished' ? [[`${record.process} ${record.id} ${record.attempt}`, record.at]] : [],
      ),
    );
    return started().map(({ process, id, attempt, at }) => ({
      id,
      key: keys.get(id) ?? id,
      from: at,
      to: ends.get(`${process} ${id} ${attempt}`) ?? Infinity,
    }));
  }

  it('a rate: no second has more calls than may begin, and nearly as many do', { timeout: 120_000 }, async () => {
    const limits: TestedLimits = { rateLimit: { max: 50, per: 1000 } };
    await start(limits);
    await world.pause(30_000);
    const all = runs();
    const used = usedOf(all, 50, 1000);
    const shares = world.consumers.map((name) => world.recorded(name, 'delivery-started'));
    report(`rate of 50 a second, 4 processes: ${(used * 100).toFixed(1)} % used, calls of each ${shares.join(', ')}`);

    expect(tooFast(all, limits, GRAIN)).toEqual([]);
    expect(used).toBeGreaterThanOrEqual(0.9);
    expect(Math.min(...shares)).toBeGreaterThan(0.5 * Math.max(...shares));
  });

  it('a rate of 100 keys: the same for each key', { timeout: 120_000 }, async () => {
    const limits: TestedLimits = { rateLimit: { max: 5, per: 1000, by: 'key' } };
    await start(limits, {}, { keys: 100 });
    await world.pause(12_000);
    const all = runs();
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

  it('waiting for a limit costs at most 5 commands a second and process', { timeout: 120_000 }, async () => {
    for (const limits of [
      { rateLimit: { max: 20, per: 600_000 } },
      { rateLimit: { max: 1, per: 600_000, by: 'key' } },
      { maxInFlight: { topic: 20 } },
    ] as const) {
      await world.close();
      world = await World.create(new SeededRandom(1), []);
      await start(limits, { handlerTime: 5, hangsOn: 'maxInFlight' in limits ? allIds() : [] }, { keys: 20 });
      await until('20 calls', () => started().length >= 20, 30_000);
      await world.pause(3000);
      const commands = async (): Promise<number> =>
        Number(/total_commands_processed:(\d+)/.exec(await world.client.info('stats'))?.[1]);
      const before = await commands();
      await world.pause(20_000);
      const rate = ((await commands()) - before) / 20 / PROCESSES;
      report(`waiting for ${JSON.stringify(limits)}: ${rate.toFixed(2)} commands a second and process`);

      expect(started()).toHaveLength(20);
      expect(rate).toBeLessThanOrEqual(5);
    }
  });

  it(
    'what is in flight: never more than may, and as many again within the lease after a kill',
    { timeout: 120_000 },
    async () => {
      const limits: TestedLimits = { maxInFlight: { topic: 10 } };
      await start(limits, { ...TIMING, handlerTime: 400 });
      await until('100 calls', () => started().length >= 100, 30_000);
      await world.pause(2000);
      const killedAt = world.now();
      const [victim = ''] = world.consumers;
      await world.program(victim).kill();
      await world.pause(TIMING.lease + 3000);
      const all = runs().map((run) => {
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
      expect(full - killedAt).toBeLessThanOrEqual(TIMING.lease);
    },
  );

  it(
    'a rate limit that a handler meets: nothing begins for that time, and then all goes on',
    { timeout: 60_000 },
    async () => {
      const id = `p${PROCESSES + 2}-50`;
      await start({}, { meetsLimit: { id, delay: 2000 } }, { count: 100 });
      await until('the backlog to be handled', () => started().length >= 100, 30_000);
      await world.startProducer({ rate: 300, maxDelay: 0, cancellations: 0 });
      await until('the message', () => started().some((record) => record.id === id), 10_000);
      await world.pause(4000);
      await world.endProducers();
      const times = started()
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

function allIds(): string[] {
  return Array.from({ length: BACKLOG }, (_, n) => `p1-${n}`);
}

/** How much of what a rate allows was used, between the first and the last call. */
function usedOf(runs: readonly LimitedRun[], max: number, per: number): number {
  const begins = runs.map(({ from }) => from);
  return begins.length / (Math.floor((Math.max(...begins) - Math.min(...begins)) / per) + 1) / max;
}
