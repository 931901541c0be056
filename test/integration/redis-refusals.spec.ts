import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedMessage } from '../../lib/broker/broker.interface.js';
import type { RedisBroker } from '../../lib/broker/redis/redis.broker.js';
import { BrokerUnavailableError } from '../../lib/errors/operation.errors.js';
import { DelayQueueError } from '../../lib/errors/delay-queue.error.js';
import { ACK, LONG, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { type RedisBed, newRedisBroker, openRedisBed } from '../support/broker/redis-bed.js';
import { IS_REDIS_7, type PrivateRedis, freePort, startRedis } from '../support/servers/redis-server.js';
import { until } from '../support/waiting.js';

async function refusal(call: Promise<unknown>): Promise<BrokerUnavailableError> {
  const error = await call.then(
    () => expect.fail('it was served'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BrokerUnavailableError);
  return error as BrokerUnavailableError;
}

function fill({ redis }: RedisBed): Promise<unknown> {
  return redis.config('SET', 'maxmemory', '1');
}

/** The result of a call although the memory is full; on Redis 6.2 the call may be refused for that reason only. */
async function whenFull(call: () => Promise<unknown>): Promise<unknown> {
  if (IS_REDIS_7) return call();
  const { message: text, transient } = await refusal(call());
  return { isOutOfMemory: text.includes('OOM command not allowed'), transient };
}

function ifServed(result: unknown): unknown {
  return IS_REDIS_7 ? result : { isOutOfMemory: true, transient: false };
}

/** Gives the user 'limited' these rights, on top of those it has. */
function allow({ redis }: RedisBed, ...rules: string[]): Promise<unknown> {
  return redis.acl('SETUSER', 'limited', 'on', '>secret', ...rules);
}

describe('if Redis refuses to serve', () => {
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
    const { delivered } = (await bed.broker.stats(bed.partition)).counters;
    const request = { member: 'm', max: 100, lease: LONG, knownToken: delivered };
    const result = await bed.broker.claim(bed.partition, request);
    if (result.status === 'not-owner') throw new Error('it is the owner');
    return result.messages;
  }

  describe('since its memory is full', () => {
    afterEach(() => bed.redis.config('SET', 'maxmemory', '0'));

    it('a publish rejects for good, says why, and has written nothing', async () => {
      await fill(bed);

      const error = await refusal(bed.broker.publish(bed.partition, bed.nextCall(), [message('a'), message('b')]));

      expect(error.message).toContain(`${at()}Redis has reached its maxmemory and takes no writes (`);
      expect(error.message).toContain('OOM command not allowed');
      expect(error.transient).toBe(false);
      expect(error.cause).toBeInstanceOf(Error);
      expect(await bed.storedKeys()).toEqual([]);
    });

    it('a publish that would replace a message leaves it as it was', async () => {
      await bed.broker.publish(bed.partition, bed.nextCall(), [message('a')]);
      const before = await bed.broker.get(bed.partition, 'a');
      await fill(bed);

      await refusal(bed.broker.publish(bed.partition, bed.nextCall(), [message('a', { onDuplicate: 'replace' })]));

      expect(await bed.broker.get(bed.partition, 'a')).toEqual(before);
      expect(await bed.redis.hlen(bed.keys.messages)).toBe(1);
    });

    it('messages are handed out and settled all the same, which frees memory', async () => {
      await bed.broker.acquire(bed.partition, 'm', LONG);
      await bed.broker.publish(bed.partition, bed.nextCall(), [message('a'), message('b'), message('c')]);
      await fill(bed);

      const messages = await claimAll();
      const outcomes = [ACK, RETRY_LATER, { kind: 'release' } as const];
      const settlements = messages.map(({ storedId, token }, i) => ({ storedId, token, outcome: outcomes[i] ?? ACK }));
      const call = bed.nextCall();

      expect(await bed.broker.settle(bed.partition, call, settlements)).toEqual(['settled', 'settled', 'settled']);
      expect(await bed.broker.settle(bed.partition, call, settlements)).toEqual(['settled', 'settled', 'settled']);
      expect(await bed.broker.cancel(bed.partition, bed.nextCall(), 'b')).toBe('cancelled');
      expect(await bed.broker.stats(bed.partition)).toMatchObject({ scheduled: 1, inFlight: 0 });
    });

    it('a message that waits can be moved all the same', async () => {
      await bed.broker.publish(bed.partition, bed.nextCall(), [message('a')]);
      await fill(bed);

      const moved = async () => bed.broker.reschedule(bed.partition, bed.nextCall(), 'a', { after: LONG });

      expect(await whenFull(moved)).toEqual(ifServed('rescheduled'));
      expect(await bed.broker.stats(bed.partition)).toMatchObject({ scheduled: 1, due: IS_REDIS_7 ? 0 : 1 });
    });

    // If one of these failed, consumers would stop one after another, and nothing would free memory any more. Redis 6.2 has no
    // script flags and so no exception for scripts: there an operator has to make room first.
    describe('consumers still work:', () => {
      let claimed: ClaimedMessage[];
      beforeEach(async () => {
        const { broker, partition } = bed;
        await broker.join('orders', 'm', LONG, [0]);
        await broker.acquire(partition, 'm', LONG);
        await broker.publish(partition, bed.nextCall(), [message('a')]);
        claimed = await claimAll();
        await fill(bed);
      });

      it('a lease can be extended', async () => {
        const statuses = await whenFull(() => bed.broker.extend(bed.partition, LONG, claimed));
        expect(statuses).toEqual(ifServed(['extended']));
      });

      it('a member can send its heartbeat', async () => {
        const members = await whenFull(async () =>
          (await bed.broker.join('orders', 'm', LONG, [0])).map(({ id }) => id),
        );
        expect(members).toEqual(ifServed(['m']));
      });

      it('a partition can be renewed', async () => {
        expect(await bed.broker.renew(bed.partition, 'm', LONG)).toMatchObject({ owned: true });
      });

      it('a partition can be handed over', async () => {
        await bed.broker.release(bed.partition, 'm');
        const acquired = async () => (await bed.broker.acquire(bed.partition, 'heir', LONG)).acquired;
        expect(await whenFull(acquired)).toEqual(ifServed(true));
      });

      it('a claim can be repeated', async () => {
        const request = { member: 'm', max: 100, lease: LONG, knownToken: 0 };
        expect(await bed.broker.claim(bed.partition, request)).toMatchObject({ messages: claimed });
      });

      it('a message in flight can be cancelled', async () => {
        expect(await bed.broker.cancel(bed.partition, bed.nextCall(), 'a')).toBe('in-flight');
      });
    });
  });

  it('since it is a replica: a publish rejects as one that may be repeated, after a failover', async () => {
    await bed.redis.replicaof('127.0.0.1', await freePort());
    try {
      const error = await refusal(bed.broker.publish(bed.partition, bed.nextCall(), [message('a')]));

      expect(error.message).toContain(`${at()}this Redis is a read-only replica; connect to the primary (`);
      expect(error.message).toContain("READONLY You can't write");
      expect(error.transient).toBe(true);
      expect(await bed.storedKeys()).toEqual([]);
    } finally {
      await bed.redis.replicaof('NO', 'ONE');
    }
    // The connection is being made anew: nothing else is known to be wrong with it.
    const call = bed.nextCall();
    const results = await until('the publish to be served', async () =>
      bed.broker.publish(bed.partition, call, [message('a')]).catch(() => undefined),
    );
    expect(results).toMatchObject([{ status: 'created' }]);
  });

  it('since the key that a topic hangs on holds a value of another type: a call rejects for good and says so', async () => {
    const config = `{${bed.prefix}:orders}:config`;
    await bed.redis.set(config, 'not a hash');

    for (const call of [bed.broker.configOf('orders'), bed.broker.configure('orders', 4)]) {
      const error = await refusal(call);
      expect(error.message).toContain(`${at()}a key of this module holds a value that it did not write (`);
      expect(error.message).toContain('WRONGTYPE');
      expect(error).toMatchObject({ transient: false, refused: true });
    }
    expect(await bed.storedKeys()).toEqual([config]);
  });

  describe('because the ACL of its user', () => {
    const ALL = ['~*', '&*', '+@all'];
    const DENIED = "the Redis user's ACL denies a command or key that is needed";
    let limited: RedisBroker;
    afterEach(async () => {
      await limited.close();
      await bed.redis.acl('DELUSER', 'limited');
    });

    /** A broker on the bed's keys whose user has these rights; not connected yet. */
    async function brokerAs(...rules: string[]): Promise<RedisBroker> {
      await allow(bed, ...rules);
      limited = newRedisBroker(`redis://limited:secret@127.0.0.1:${server.port}`, bed.prefix);
      return limited;
    }

    const DENIALS: Readonly<Record<string, readonly [rules: string[], what: RegExp]>> = {
      'all scripts': [[...ALL, '-@scripting'], /NOPERM/],
      'the keys': [['~other:*', '&*', '+@all'], /NOPERM/],
      'the channels, as Redis 7 does where nothing is said of them': [['~*', 'resetchannels', '+@all'], /channel/],
      'a command that publishing needs': [[...ALL, '-zadd'], /ZADD/],
      'a command that settling needs': [[...ALL, '-hdel'], /HDEL/],
      'a command that claiming needs': [[...ALL, '-zrangebyscore'], /ZRANGEBYSCORE/],
      'a command that waking needs': [[...ALL, IS_REDIS_7 ? '-spublish' : '-publish'], /PUBLISH/],
      'several commands': [[...ALL, '-hset', '-zrem'], /HSET.*ZREM/s],
    };
    for (const [what, [rules, named]] of Object.entries(DENIALS)) {
      it(`denies ${what}: connect() rejects, says so without the password, and leaves nothing`, async () => {
        const broker = await brokerAs(...rules);

        const error = await broker.connect().then(
          () => expect.fail('it connected'),
          (reason: unknown) => reason as Error,
        );

        expect(error).toBeInstanceOf(DelayQueueError);
        expect(error.message).toContain(`Redis at 127.0.0.1:${server.port}`);
        expect(error.message).toMatch(named);
        expect(error.message).not.toContain('secret');
        expect(await bed.storedKeys()).toEqual([]);
      });
    }

    it('allows the keys and channels of the prefix: it connects, and leaves nothing', async () => {
      await (
        await brokerAs('resetchannels', `~{${bed.prefix}:*`, `&{${bed.prefix}:*`, '+@all', '-@dangerous', '+info')
      ).connect();

      expect(await bed.storedKeys()).toEqual([]);
    });

    const TAKEN: Readonly<Record<string, string[]>> = {
      'all scripts': ['-@scripting'],
      'the keys': ['resetkeys', '~other:*'],
      'a command': ['-zadd'],
      'the channels': ['resetchannels'],
    };
    for (const [what, rules] of Object.entries(TAKEN)) {
      it(`denies ${what} from now on: a publish rejects as a permanent failure and says so`, async () => {
        const broker = await brokerAs(...ALL);
        await broker.connect();
        await allow(bed, ...rules);

        const error = await refusal(broker.publish(bed.partition, bed.nextCall(), [message('a')]));

        expect(error.message).toContain(`${at()}${DENIED}`);
        expect(error.message).not.toContain('secret');
        expect(error.transient).toBe(false);
      });
    }

    it('denies a plain command from now on: a call rejects as a permanent failure and says so', async () => {
      const broker = await brokerAs(...ALL);
      await broker.connect();
      await allow(bed, '-zrangebylex');

      const error = await refusal(broker.locate(bed.partition, 'a'));

      expect(error.message).toContain(`${at()}${DENIED} (NOPERM `);
      expect(error.transient).toBe(false);
    });

    it('denies the channels from now on: new listeners get the error', async () => {
      const broker = await brokerAs(...ALL);
      await broker.connect();
      await allow(bed, 'resetchannels');

      broker.watchPartition(bed.partition, () => {});
      const error = await refusal(broker.link.listen());

      expect(error.message).toContain(DENIED);
      expect(error.transient).toBe(false);
    });

    it('allows it again: the next call is served', async () => {
      const broker = await brokerAs(...ALL);
      await broker.connect();
      await allow(bed, '-zadd');
      await refusal(broker.publish(bed.partition, bed.nextCall(), [message('a')]));
      expect(await bed.broker.get(bed.partition, 'a')).toBeUndefined();
      await allow(bed, '+zadd');

      expect(await broker.publish(bed.partition, bed.nextCall(), [message('a')])).toMatchObject([
        { status: 'created' },
      ]);
    });
  });

  it('does not keep a closed client waiting', async () => {
    const closed = newRedisBroker(server.url);
    await closed.connect();
    await closed.close();

    const error = await refusal(closed.stats(bed.partition));

    expect(error.message).toBe(`The connection to Redis at 127.0.0.1:${server.port} was closed`);
    expect(error.transient).toBe(false);
  });
});
