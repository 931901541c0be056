import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SettleStatus } from '../../lib/messages/settle-status.js';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import type { Outcome } from '../../lib/store/deliveries/settle.js';
import { MAX_BATCH } from '../../lib/store/partition.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { ACK, DEAD, LONG, RETRY, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed, serverTime, serverTimeReaches } from '../support/broker/redis-bed.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

/** How long a script may block Redis, in milliseconds; generous, since machines are shared. */
const LONGEST_BLOCK = 50;

const MIB = 1024 * 1024;

function idsOf(name: string): string[] {
  return Array.from({ length: MAX_BATCH }, (_, i) => toStoredId(`${name}-${i}`, 'key'));
}

describe('Redis under load', () => {
  let server: PrivateRedis;
  let bed: RedisBed;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    bed = await openRedisBed(server.url);
    await bed.claimant.acquire();
  });
  afterEach(() => bed.close());

  async function settle(
    messages: readonly ClaimedMessage[],
    outcome: Outcome,
    status: SettleStatus = 'settled',
  ): Promise<void> {
    const settlements = messages.map(({ storedId, token }) => ({ storedId, token, outcome }));
    const statuses = await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), settlements);
    expect(statuses).toEqual(messages.map(() => status));
  }

  /**
   * Measures how long each script runs during `work`, and prints it.
   *
   * @returns the 95th percentile in milliseconds, since single scripts may have waited for a core
   */
  async function scriptTime(name: string, work: () => Promise<void>): Promise<number> {
    await bed.redis.config('SET', 'slowlog-max-len', '20000');
    await bed.redis.slowlog('RESET');
    await bed.redis.config('SET', 'slowlog-log-slower-than', '0');
    await work();
    await bed.redis.config('SET', 'slowlog-log-slower-than', '-1');
    const entries = (await bed.redis.slowlog('GET', -1)) as [number, number, number, string[]][];
    const scripts = entries.filter(([, , , [command]]) => /^eval/i.test(command ?? ''));
    const times = scripts.map(([, , microseconds]) => microseconds / 1000).toSorted((a, b) => b - a);
    const [longest, usual] = [times[0] ?? NaN, times[Math.floor(times.length / 20)] ?? NaN];
    console.info(`${name}: ${times.length} scripts, ${usual.toFixed(1)} ms, the longest ${longest.toFixed(1)} ms`);
    return usual;
  }

  async function publishLarge(from: number, to: number): Promise<void> {
    for (let i = from; i < to; i++) {
      const envelope = `[${i},"${'x'.repeat(MIB - 10)}"]`;
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [
        message(`large-${String(i).padStart(2, '0')}`, { envelope }),
      ]);
    }
  }

  /** Claims until nothing is left; returns the number of messages and bytes of each claim. */
  async function claimAll(count: number): Promise<{ messages: number; bytes: number }[]> {
    const claims: { messages: number; bytes: number }[] = [];
    for (let left = count; left > 0;) {
      const result = await bed.claimant.claim();
      expect(result.messages.length).toBeGreaterThan(0);
      const bytes = result.messages.reduce((sum, { envelope }) => sum + envelope.length, 0);
      claims.push({ messages: result.messages.length, bytes });
      left -= result.messages.length;
      // Where there is more, the answer says so.
      expect(left === 0 || (result.nextAt ?? Infinity) <= (await serverTime(bed.redis))).toBe(true);
      await settle(result.messages, ACK);
    }
    return claims;
  }

  it('20,000 messages due at once in one partition are all delivered once and in order, in short steps', async () => {
    const COUNT = 20_000;
    const ids = Array.from({ length: COUNT }, (_, i) => `id-${String(i).padStart(6, '0')}`);
    const claimed: string[] = [];

    const time = await scriptTime('20,000 due at once', async () => {
      for (let first = 0; first < COUNT; first += MAX_BATCH) {
        const batch = ids.slice(first, first + MAX_BATCH).map((id) => message(id));
        await bed.broker.messages.publish(bed.partition, bed.nextCall(), batch);
      }
      while (claimed.length < COUNT) {
        const result = await bed.claimant.claim();
        expect(result.messages).toHaveLength(MAX_BATCH);
        claimed.push(...result.messages.map(({ storedId }) => storedId));
        await settle(result.messages, ACK);
      }
    });

    expect(claimed).toEqual(ids);
    expect(time).toBeLessThan(LONGEST_BLOCK);
    expect(await bed.broker.messages.stats(bed.partition)).toMatchObject({ scheduled: 0, inFlight: 0 });
  });

  it('full calls of every other kind work, in short steps', async () => {
    const { broker, partition, redis, claimant } = bed;
    const keyed = Array.from({ length: MAX_BATCH }, (_, i) => message(toStoredId(`id-${i}`, 'key')));

    const time = await scriptTime(`calls of ${MAX_BATCH}`, async () => {
      await broker.messages.publish(partition, bed.nextCall(), keyed);
      for (const fields of [{ maxWait: 0, onDuplicate: 'replace' }, { onDuplicate: 'earliest' }] as const) {
        await broker.messages.publish(
          partition,
          bed.nextCall(),
          keyed.map(({ storedId }) => message(storedId, fields)),
        );
      }
      const first = await claimant.claim({ lease: 30 });
      expect(first.messages).toHaveLength(MAX_BATCH);
      expect((await claimant.repeat()).messages).toHaveLength(MAX_BATCH);
      await broker.deliveries.extend(partition, 1, first.messages);
      await serverTimeReaches(redis, (await serverTime(redis)) + 1);
      const again = await claimant.claim();
      expect(again.messages).toHaveLength(MAX_BATCH);
      await settle(again.messages, { kind: 'release' });
      const third = await claimant.claim();
      await settle(third.messages, RETRY);
      await serverTimeReaches(redis, (await serverTime(redis)) + 1);
      const fourth = await claimant.claim();
      await broker.messages.publish(
        partition,
        bed.nextCall(),
        keyed.map(({ storedId }) => message(storedId, { onDuplicate: 'replace' })),
      );
      await settle(fourth.messages, DEAD, 'replaced');
      const fifth = await claimant.claim();
      await settle(fifth.messages, DEAD);
      for (let left = MAX_BATCH; left > 0;) {
        await broker.deadLetters.trimDead(partition, { maxCount: 0 });
        ({ dead: left } = await broker.messages.stats(partition));
      }
    });

    expect(time).toBeLessThan(LONGEST_BLOCK);
    const { scheduled, inflight, messages, deliveries, dead, errors, keyed: keyedKey } = bed.keys;
    expect(await redis.exists(scheduled, inflight, messages, deliveries, dead, errors, keyedKey)).toBe(0);
  });

  it.each([
    { what: 'small', length: 100 },
    { what: 'of 4 KiB', length: 4_000 },
    { what: 'of 32 KiB', length: 32_000 },
    { what: 'of 256 KiB', length: 256_000 },
  ])('keeps, refuses and removes 200 finished messages that are $what, in short steps', async ({ what, length }) => {
    const { broker, partition, redis, nextCall } = bed;
    const publish = async (ids: readonly string[]): Promise<void> => {
      const envelope = `[1,"${'x'.repeat(length)}"]`;
      for (const id of ids)
        await broker.messages.publish(partition, nextCall(), [message(id, { envelope, tags: ['x'] })]);
    };
    const finished = { maxCount: 5000 };
    const [acked, drained, tagged] = [idsOf('acked'), idsOf('drained'), idsOf('tagged')];
    await publish(acked);
    const claimed: ClaimedMessage[] = [];
    while (claimed.length < MAX_BATCH) claimed.push(...(await bed.claimant.claim({ finished })).messages);

    const time = await scriptTime(`200 kept that are ${what}`, async () => {
      // As many as consumers send in one call.
      const atOnce = Math.max(1, Math.min(MAX_BATCH, Math.floor((256 * 1024) / length)));
      for (let first = 0; first < MAX_BATCH; first += atOnce) await settle(claimed.slice(first, first + atOnce), ACK);
      const refused = await broker.messages.publish(
        partition,
        nextCall(),
        acked.map((id) => message(id)),
      );
      expect(refused.map(({ status }) => status)).toEqual(acked.map(() => 'rejected'));
      await publish(drained);
      for (let more = true; more;) ({ more } = await broker.messages.clear(partition, nextCall(), 'scheduled'));
      await publish(tagged);
      let after: string | undefined;
      do ({ next: after } = await broker.messages.cancelTagged(partition, nextCall(), 'x', after));
      while (after !== undefined);
      expect(await broker.messages.stats(partition)).toMatchObject({
        finished: 3 * MAX_BATCH,
        inFlight: 0,
        scheduled: 0,
      });
      await publish(acked.map((id) => `${id} once`));
      let once = 0;
      while (once < MAX_BATCH) once += (await bed.claimant.claim({ finished, lease: 0 })).messages.length;
      await bed.claimant.claim({ finished: { maxCount: 1 } });
      for (let next: number | undefined = 0; next === 0;) next = await broker.deadLetters.trimFinished(partition);
    });

    expect(time).toBeLessThan(LONGEST_BLOCK);
    expect(await broker.messages.stats(partition)).toMatchObject({ finished: 1, inFlight: 0, scheduled: 0 });
    expect(await redis.zcard(bed.keys.keyed)).toBe(1);
  });

  it('finds the deliveries of a lost reply among thousands in flight', async () => {
    for (let first = 0; first < 4000; first += MAX_BATCH) {
      const batch = Array.from({ length: MAX_BATCH }, (_, i) => message(`id-${first + i}`));
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), batch);
    }
    for (let claimed = 0; claimed < 4000 - MAX_BATCH;) claimed = (await bed.claimant.claim()).delivered;
    const lost = await bed.claimant.claim();

    const time = await scriptTime('a claim repeated with 4,000 in flight', async () => {
      const { messages } = await bed.claimant.repeat();
      const tokens = messages.map((claimed) => claimed.token);
      expect(tokens.toSorted()).toEqual(lost.messages.map((claimed) => claimed.token).toSorted());
    });
    expect(time).toBeLessThan(LONGEST_BLOCK);
  });

  it('what a claim has handed out at most once is read for a repeat of it alone', async () => {
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);
    const reads = async (claim: () => Promise<unknown>): Promise<number> => {
      await bed.redis.config('RESETSTAT');
      await claim();
      const [, calls] = /cmdstat_get:calls=(\d+)/.exec(await bed.redis.info('commandstats')) ?? [];
      return Number(calls);
    };
    const first = await reads(() => bed.claimant.claim({ lease: 0 }));
    expect(await reads(() => bed.claimant.repeat())).toBe(first + 1);
    expect(await reads(() => bed.claimant.claim({ lease: 0 }))).toBe(first);
  });

  describe('with large messages', () => {
    it('of 1 MiB each, a claim stops at about 1 MiB, and the rest follows', async () => {
      await publishLarge(0, 50);

      let claims: { messages: number; bytes: number }[] = [];
      const time = await scriptTime('50 messages of 1 MiB', async () => {
        claims = await claimAll(50);
      });

      const most = Math.max(...claims.map(({ bytes }) => bytes));
      expect(claims.reduce((sum, { messages }) => sum + messages, 0)).toBe(50);
      expect(most).toBeLessThanOrEqual(2 * MIB);
      expect(time).toBeLessThan(LONGEST_BLOCK);
    });

    it('behind small ones, a claim stops at about 1 MiB too', async () => {
      await bed.broker.messages.publish(
        bed.partition,
        bed.nextCall(),
        Array.from({ length: 12 }, (_, i) => message(`a-${i}`)),
      );
      await publishLarge(0, 50);

      let claims: { messages: number; bytes: number }[] = [];
      const time = await scriptTime('50 messages of 1 MiB behind 12 small ones', async () => {
        claims = await claimAll(62);
      });

      const most = Math.max(...claims.map(({ bytes }) => bytes));
      expect(most).toBeLessThanOrEqual(2 * MIB);
      expect(time).toBeLessThan(LONGEST_BLOCK);
    });

    it('that are kept, a settle stops at about 256 KiB, whoever sends it, and does nothing about the rest', async () => {
      await publishLarge(0, 3);
      const claimed: ClaimedMessage[] = [];
      while (claimed.length < 3) claimed.push(...(await bed.claimant.claim({ finished: { maxCount: 10 } })).messages);
      const settlements = claimed.map(({ storedId, token }) => ({ storedId, token, outcome: ACK }));

      const answers = await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), settlements);
      expect(answers).toEqual(['settled', 'later', 'later']);
      expect(await bed.broker.messages.stats(bed.partition)).toMatchObject({ finished: 1, inFlight: 2 });
    });

    it('that are gone, a claim returns as many small ones as before', async () => {
      await publishLarge(0, 1);
      const [large] = (await bed.claimant.claim()).messages;
      await settle(large ? [large] : [], ACK);
      const small = Array.from({ length: MAX_BATCH }, (_, i) => message(`small-${i}`));
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), small);

      const time = await scriptTime('400 small ones where a large one has been', async () => {
        expect((await bed.claimant.claim()).messages).toHaveLength(MAX_BATCH);
      });
      expect(time).toBeLessThan(LONGEST_BLOCK);
    });

    it('whose leases have ended, a claim stops at about 1 MiB too', async () => {
      await publishLarge(0, 20);
      for (let left = 20; left > 0;) {
        const result = await bed.claimant.claim({ lease: 1 });
        left -= result.messages.length;
        await bed.broker.deliveries.extend(bed.partition, LONG, result.messages);
      }
      const receipts = Array.from({ length: 20 }, (_, i) => ({
        storedId: `large-${String(i).padStart(2, '0')}`,
        token: bed.claimant.token(i + 1),
      }));
      expect(await bed.broker.deliveries.extend(bed.partition, 0, receipts)).toEqual(receipts.map(() => 'extended'));

      const { messages } = await bed.claimant.claim();

      expect(messages.length).toBeGreaterThan(0);
      expect(messages.reduce((sum, { envelope }) => sum + envelope.length, 0)).toBeLessThanOrEqual(2 * MIB);
    });
  });
});
