import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import type { Outcome } from '../../lib/store/deliveries/settle.js';
import { epochOf, ownerOf } from '../../lib/store/fleet/owner.js';
import { PROTOCOL_VERSION } from '../../lib/store/fleet/topic-config.js';
import { ACK, DEAD, LONG, PUT_OFF, RELEASE, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed, refusal } from '../support/broker/redis-bed.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

const HEARTBEAT = { session: 'm', count: 1, length: LONG, protocol: PROTOCOL_VERSION, digest: 'd' };

function fill({ redis }: RedisBed): Promise<unknown> {
  return redis.config('SET', 'maxmemory', '1');
}

describe('if the memory of Redis is full', () => {
  let server: PrivateRedis;
  let bed: RedisBed;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    bed = await openRedisBed(server.url);
  });
  afterEach(() => bed.close());

  const at = (): string => `Redis at 127.0.0.1:${server.port} failed: `;

  async function claimAll(): Promise<ClaimedMessage[]> {
    return (await bed.claimant.claim()).messages;
  }

  afterEach(() => bed.redis.config('SET', 'maxmemory', '0'));

  it('a publish rejects as long as it is, says why, and has written nothing', async () => {
    await fill(bed);

    const error = await refusal(
      bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a'), message('b')]),
    );

    expect(error.message).toContain(`${at()}Redis has reached its maxmemory and takes no writes (`);
    expect(error.message).toContain('OOM command not allowed');
    expect(error.transient).toBe(true);
    expect(error.cause).toBeInstanceOf(Error);
    expect(await bed.storedKeys()).toEqual([]);
  });

  it('a publish that would replace a message leaves it as it was', async () => {
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);
    const before = await bed.broker.messages.get(bed.partition, 'a');
    await fill(bed);

    await refusal(
      bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a', { onDuplicate: 'replace' })]),
    );

    expect(await bed.broker.messages.get(bed.partition, 'a')).toEqual(before);
    expect(await bed.redis.hlen(bed.keys.messages)).toBe(1);
  });

  it('messages are handed out, acknowledged and given back all the same, which frees memory', async () => {
    await bed.claimant.acquire();
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a'), message('b'), message('c')]);
    await fill(bed);

    const messages = await claimAll();
    const outcomes = [ACK, ACK, RELEASE];
    const settlements = messages.map(({ storedId, token }, i) => ({ storedId, token, outcome: outcomes[i] ?? ACK }));
    const call = bed.nextCall();

    expect(await bed.broker.deliveries.settle(bed.partition, call, settlements)).toEqual([
      'settled',
      'settled',
      'settled',
    ]);
    expect(await bed.broker.deliveries.settle(bed.partition, call, settlements)).toEqual([
      'settled',
      'settled',
      'settled',
    ]);
    expect(await bed.broker.messages.cancel(bed.partition, bed.nextCall(), 'c')).toBe('cancelled');
    expect(await bed.broker.messages.stats(bed.partition)).toMatchObject({ scheduled: 0, inFlight: 0 });
  });

  it('messages are acknowledged and cancelled also if they are kept then, which takes about as much as they did', async () => {
    await bed.claimant.acquire();
    const ids = Array.from({ length: 200 }, (_, i) => `id-${i}`);
    await bed.broker.messages.publish(
      bed.partition,
      bed.nextCall(),
      ids.map((id) => message(id)),
    );
    const { messages } = await bed.claimant.claim({ finished: { maxAge: LONG } });
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);
    await fill(bed);
    const used = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await bed.redis.info('memory'))?.[1]);
    const before = await used();

    const settlements = messages.map(({ storedId, token }) => ({ storedId, token, outcome: ACK, duration: 5 }));
    await bed.broker.deliveries.settle(
      bed.partition,
      bed.nextCall(),
      settlements,
      'host:1:0198c0de-0000-7000-8000-000000000000',
    );
    expect(await bed.broker.messages.cancel(bed.partition, bed.nextCall(), 'a')).toBe('cancelled');

    expect(await bed.broker.messages.stats(bed.partition)).toMatchObject({ scheduled: 0, inFlight: 0, finished: 201 });
    console.info(`Kept 200 messages in full Redis: ${Math.round(((await used()) - before) / 200)} bytes more each`);
    expect(((await used()) - before) / 200).toBeLessThan(200);
  });

  it.each<[string, Outcome]>([
    ['a retry', RETRY_LATER],
    ['a dead letter', DEAD],
    ['one that is put off', PUT_OFF],
  ])(
    'an outcome that is kept rejects, with nothing written, and is stored once there is room: %s',
    async (_, outcome) => {
      await bed.claimant.acquire();
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a'), message('b')]);
      const [a, b] = await claimAll();
      const settlements = [
        { ...(a as ClaimedMessage), outcome: ACK },
        { ...(b as ClaimedMessage), outcome },
      ];
      await fill(bed);
      const call = bed.nextCall();

      expect(await refusal(bed.broker.deliveries.settle(bed.partition, call, settlements))).toMatchObject({
        full: true,
      });
      expect(await bed.broker.messages.stats(bed.partition)).toMatchObject({ inFlight: 2, counters: { acked: 0 } });

      await bed.redis.config('SET', 'maxmemory', '0');
      expect(await bed.broker.deliveries.settle(bed.partition, call, settlements)).toEqual(['settled', 'settled']);
      await fill(bed);
      expect(await bed.broker.deliveries.settle(bed.partition, call, settlements)).toEqual(['settled', 'settled']);
    },
  );

  it('a dead letter can be requeued, but not with another payload, and a waiting message cannot be edited', async () => {
    const { broker, partition } = bed;
    await bed.claimant.acquire();
    await broker.messages.publish(partition, bed.nextCall(), [message('a')]);
    const [claimed] = (await claimAll()) as [ClaimedMessage];
    await broker.deliveries.settle(partition, bed.nextCall(), [{ ...claimed, outcome: DEAD }]);
    const { letters } = await broker.deadLetters.listDead(partition, { limit: 1, withFailures: false });
    const [death] = letters as [(typeof letters)[0]];
    await fill(bed);

    const requeue = async (edit: object) =>
      broker.deadLetters.requeueDead(partition, bed.nextCall(), [{ ...death, ...edit }], 0);
    expect(await refusal(requeue({ envelope: '[1,3]' }))).toMatchObject({ full: true });
    expect(await requeue({})).toEqual([true]);
    const edit = { storedId: 'a', expected: claimed.envelope, envelope: '[1,3]' };
    expect(await refusal(broker.messages.edit(partition, bed.nextCall(), edit))).toMatchObject({ full: true });
    expect(await broker.messages.get(partition, 'a')).toMatchObject({ state: 'scheduled', envelope: claimed.envelope });
  });

  it('a message that waits can be moved all the same', async () => {
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);
    await fill(bed);

    const moved = await bed.broker.messages.reschedule(bed.partition, bed.nextCall(), 'a', { after: LONG });

    expect(moved).toBe('moved');
    expect(await bed.broker.messages.stats(bed.partition)).toMatchObject({ scheduled: 1, due: 0 });
  });

  // If one of these failed, consumers would stop one after another, and nothing would free memory any more.
  describe('consumers still work:', () => {
    let claimed: ClaimedMessage[];
    beforeEach(async () => {
      const { broker, partition } = bed;
      await bed.claimant.acquire();
      await broker.fleet.heartbeat(HEARTBEAT);
      await broker.messages.publish(partition, bed.nextCall(), [message('a')]);
      claimed = await claimAll();
      await fill(bed);
    });

    it('a lease can be extended', async () => {
      expect(await bed.broker.deliveries.extend(bed.partition, LONG, claimed)).toEqual(['extended']);
    });

    it('a process can send its heartbeat, and leave', async () => {
      const look = await bed.broker.fleet.heartbeat({ ...HEARTBEAT, count: 2 });
      expect(look).toEqual({ isNew: false, sessions: [expect.objectContaining({ count: 2 }) as unknown] });
      await bed.broker.fleet.leave({ ...HEARTBEAT, count: 3 });
      expect(await bed.broker.fleet.sessions()).toMatchObject([{ count: 3, left: true }]);
    });

    it('a partition can be handed over', async () => {
      const { owner } = bed.claimant;
      await bed.broker.fleet.release(bed.partition, owner);
      const acquired = await bed.broker.fleet.acquire(bed.partition, ownerOf('2b', 'heir'), epochOf(owner));
      expect(acquired).toEqual({ acquired: true });
    });

    it('a topic can be configured', async () => {
      const config = await bed.broker.fleet.configure('orders', 4);
      expect(config).toEqual({ partitions: 4, protocol: PROTOCOL_VERSION });
    });

    it('a claim can be repeated', async () => {
      expect(await bed.claimant.repeat()).toMatchObject({ messages: claimed });
    });

    it('a claim that finds nothing is served', async () => {
      expect(await bed.claimant.claim()).toMatchObject({ status: 'claimed', messages: [] });
    });

    it('a message in flight can be cancelled', async () => {
      expect(await bed.broker.messages.cancel(bed.partition, bed.nextCall(), 'a')).toBe('in-flight');
    });
  });
});
