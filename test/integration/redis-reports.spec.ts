import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { MAX_SPANS } from '../../lib/store/records/process-records.js';
import { type FleetKeys, StoreKeys } from '../../lib/store/keys.js';
import { LONG } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed } from '../support/broker/redis-bed.js';

const HEARTBEAT = { session: 'host:1:uuid', count: 1, length: LONG, digest: 'd' };

let bed: RedisBed;
let fleet: FleetKeys;
beforeEach(async () => {
  bed = await openRedisBed(inject('redisUrl'));
  fleet = new StoreKeys(bed.prefix).fleet;
});
afterEach(() => bed.close());

describe('reports of processes', () => {
  const STATE = { since: 1, version: '1', clockOffset: 0, concurrency: 1, busy: 0, waiting: 0 };
  const WORK = { topic: 'jobs', delivered: 1, acked: 1, retried: 0, dead: 0, maxLateness: 1, lateness: [1, 1] };

  it('are stored as the documents say', async () => {
    await bed.broker.fleet.heartbeat(HEARTBEAT);
    const { session } = HEARTBEAT;
    await bed.broker.records.report({ session, number: 7, state: STATE, holdings: { jobs: [0, 3] } });
    await bed.broker.records.reportWork({
      session,
      number: 8,
      minute: 29_454_480,
      work: [{ ...WORK, maxLateness: 1.23456 }],
    });

    expect(await bed.redis.hgetall(fleet.processes)).toEqual({
      [session]: '[7,{"since":1,"version":"1","clockOffset":0,"concurrency":1,"busy":0,"waiting":0}]',
    });
    expect(await bed.redis.hgetall(fleet.holdings)).toEqual({ [session]: '[7,{"jobs":[0,3]}]' });
    const key = new StoreKeys(bed.prefix).work(29_454_480);
    expect(await bed.redis.hgetall(key)).toEqual({ [`${session} jobs`]: '[8,1,1,0,0,1.235,[1,1]]' });
    const ttl = await bed.redis.pttl(key);
    expect(ttl).toBeGreaterThan(15 * 60_000);
    expect(ttl).toBeLessThanOrEqual(16 * 60_000);
  });

  it('change nothing if they come late', async () => {
    await bed.broker.fleet.heartbeat(HEARTBEAT);
    const { session } = HEARTBEAT;
    await bed.broker.records.report({ session, number: 9, state: { ...STATE, busy: 1 }, holdings: { jobs: [1] } });
    expect(await bed.broker.records.report({ session, number: 8, state: STATE, holdings: {} })).toBe(true);
    await bed.broker.records.reportWork({ session, number: 10, minute: 5, work: [{ ...WORK, acked: 2 }] });
    await bed.broker.records.reportWork({ session, number: 8, minute: 5, work: [WORK, { ...WORK, topic: 'new' }] });

    expect(await bed.broker.records.reportedProcesses([session])).toMatchObject([
      { state: { busy: 1 }, holdings: { jobs: [1] } },
    ]);
    const work = await bed.broker.records.reportedWork(5);
    expect(Object.fromEntries(work.map(({ topic, acked }) => [topic, acked]))).toEqual({ jobs: 2, new: 1 });
  });

  it('count as not there if another program wrote them, and are replaced by the next one', async () => {
    await bed.broker.fleet.heartbeat(HEARTBEAT);
    const { session } = HEARTBEAT;
    const texts = [
      '',
      'x',
      '{}',
      '[1]',
      '[1,2]',
      '[1,null]',
      '[1,{"since":"1"}]',
      '[1,{"jobs":{}}]',
      '[1,{"jobs":[-1]}]',
      '[1,{"a b":[1]}]',
      '[1,-1,0,0,0,0,[]]',
      '[1,1,0,0,0,0,["x"]]',
      '[1,1,0,0,0,1e999,[]]',
      `[1,${JSON.stringify({ ...STATE, clockOffset: null })}]`,
      '[9',
    ];
    const key = new StoreKeys(bed.prefix).work(5);
    for (const text of texts) {
      await bed.redis.hset(fleet.processes, session, text);
      await bed.redis.hset(fleet.holdings, session, text);
      await bed.redis.hset(key, {
        [`${session} jobs`]: text,
        [session]: '[1,1,1,0,0,1,[]]',
        'a b c': '[1,1,1,0,0,1,[]]',
      });
      expect(await bed.broker.records.reportedProcesses([session])).toEqual([
        { state: undefined, holdings: undefined },
      ]);
      expect(await bed.broker.records.reportedWork(5)).toEqual([]);
      await bed.broker.records.report({ session, number: 10, state: STATE, holdings: {} });
      await bed.broker.records.reportWork({ session, number: 10, minute: 5, work: [WORK] });
      expect(await bed.broker.records.reportedProcesses([session])).toEqual([{ state: STATE, holdings: {} }]);
      expect(await bed.broker.records.reportedWork(5)).toHaveLength(1);
    }
  });

  describe('the history', () => {
    const HISTORY = { span: 120, keep: 7 * 86_400_000 };
    const MINUTE = 29_454_480;
    const SPAN = MINUTE / 120;

    function report(number: number, work: object = {}): Promise<void> {
      const given = { session: 's', number, minute: MINUTE, work: [{ ...WORK, ...work }] };
      return bed.broker.records.reportWork({ ...given, history: HISTORY });
    }

    it('is stored as the documents say, for as long as it is kept', async () => {
      await bed.broker.records.reportWork({ session: 'none', number: 1, minute: MINUTE, work: [WORK] });
      expect(await bed.redis.exists(new StoreKeys(bed.prefix).spans)).toBe(0);
      await report(1);
      const key = new StoreKeys(bed.prefix).history(120, SPAN);
      expect(await bed.redis.hgetall(key)).toEqual({ jobs: '[0,1,1,0,0,1,[8,1]]' });
      expect(await bed.redis.hgetall(new StoreKeys(bed.prefix).spans)).toEqual({ 120: String(HISTORY.keep) });
      const ttl = await bed.redis.pttl(key);
      expect(ttl).toBeGreaterThan(HISTORY.keep - 60_000);
      expect(ttl).toBeLessThanOrEqual(HISTORY.keep + 120 * 60_000);
    });

    it('counts once what is told again by a copy of a report that was late', async () => {
      for (const [number, delivered] of [
        [2, 5],
        [1, 3],
        [3, 6],
      ] as const) {
        await report(number, { delivered });
      }
      expect(await bed.broker.records.historyOf('jobs', MINUTE)).toMatchObject([{ delivered: 6 }]);
    });

    it('goes on after what another program wrote there', async () => {
      const key = new StoreKeys(bed.prefix).history(120, SPAN);
      await bed.redis.hset(new StoreKeys(bed.prefix).spans, { x: '1', '-5': '7', 1: 'x' });
      for (const text of ['', 'x', '{}', '[1,[2]]', '1.2.3']) {
        await bed.redis.hset(key, 'jobs', text);
        await bed.redis.del(new StoreKeys(bed.prefix).work(MINUTE));
        await report(1, { acked: 5 });
        expect(await bed.broker.records.historyOf('jobs', MINUTE), text).toHaveLength(1);
      }
    });

    it('takes at most 64 KiB a topic', async () => {
      const topic = 't'.repeat(128);
      const count = 98_765_432;
      const lateness = Array.from({ length: 165 }, (_, bucket) => [bucket, count]).flat();
      const work = {
        ...WORK,
        topic,
        delivered: 1e9,
        acked: 1e9,
        retried: 1e9,
        dead: 1e9,
        maxLateness: 123_456_789.123,
        lateness,
      };
      await bed.broker.records.reportWork({ session: 's', number: 1, minute: MINUTE, work: [work], history: HISTORY });
      const before = await bed.redis.hstrlen(new StoreKeys(bed.prefix).history(120, SPAN), topic);
      // A field of a hash takes two strings and an entry: some 70 bytes beside its text.
      expect(MAX_SPANS * (before + topic.length + 70)).toBeLessThan(65_536);
    });
  });

  it('are set aside if another program has made something else of their keys', async () => {
    await bed.broker.fleet.heartbeat(HEARTBEAT);
    const key = new StoreKeys(bed.prefix).work(5);
    for (const name of [fleet.processes, fleet.holdings, key]) await bed.redis.set(name, 'x');
    await bed.broker.records.report({ session: HEARTBEAT.session, number: 1, state: STATE, holdings: {} });
    await bed.broker.records.reportWork({ session: HEARTBEAT.session, number: 1, minute: 5, work: [WORK] });

    expect(await bed.broker.records.reportedProcesses([HEARTBEAT.session])).toEqual([{ state: STATE, holdings: {} }]);
    expect(await bed.broker.records.reportedWork(5)).toHaveLength(1);
    expect(await bed.redis.get(`${key}:set-aside`)).toBe('x');
  });
});
