import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import { serveWithin } from '../../lib/store/calls/serve.js';
import { DelayQueueError } from '../../lib/errors/delay-queue.error.js';
import { message } from '../support/broker/broker-bed.js';
import { SystemClock } from '../../lib/time/clock.js';
import { type RedisBed, newRedisBroker, openRedisBed, refusal } from '../support/broker/redis-bed.js';
import { type PrivateRedis, freePort, startRedis } from '../support/servers/redis-server.js';
import { SOON, until } from '../support/waiting.js';

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

  it.each([
    {
      what: 'its replicas are missing',
      text: 'min-replicas-to-write',
      begin: (redis: Redis) => redis.config('SET', 'min-replicas-to-write', '1'),
      end: (redis: Redis) => redis.config('SET', 'min-replicas-to-write', '0'),
    },
    {
      what: 'its memory is full',
      text: 'maxmemory',
      begin: (redis: Redis) => redis.config('SET', 'maxmemory', '1'),
      end: (redis: Redis) => redis.config('SET', 'maxmemory', '0'),
    },
    {
      what: 'a script takes long',
      text: 'SCRIPT KILL',
      begin: async (redis: Redis) => {
        await redis.config('SET', 'lua-time-limit', '10');
        const other = redis.duplicate();
        void other.eval('while true do end', 0).catch(() => other.disconnect());
        await until('it to be busy', async () => redis.get('a').then(Boolean, () => true));
      },
      end: (redis: Redis) => redis.script('KILL'),
    },
  ])('a publish waits until that has passed: $what', async ({ text, begin, end }) => {
    await begin(bed.redis);
    const call = bed.nextCall();
    const failures: unknown[] = [];
    const published = serveWithin(new SystemClock(), SOON, async () => {
      try {
        return await bed.broker.messages.publish(bed.partition, call, [message('a')]);
      } catch (error) {
        failures.push(error);
        throw error;
      }
    });
    await until('it to be refused twice', () => failures.length > 1);
    await end(bed.redis);

    expect(await published).toMatchObject([{ status: 'created' }]);
    expect((failures[0] as Error).message).toContain(text);
    expect(await bed.broker.messages.stats(bed.partition)).toMatchObject({ scheduled: 1 });
  });

  it('since it is a replica: a publish rejects as one that may be repeated, after a failover', async () => {
    await bed.redis.replicaof('127.0.0.1', await freePort());
    try {
      const error = await refusal(bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]));

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
      bed.broker.messages.publish(bed.partition, call, [message('a')]).catch(() => undefined),
    );
    expect(results).toMatchObject([{ status: 'created' }]);
  });

  it('since the key that a topic hangs on holds a value of another type: a call rejects for good and says so', async () => {
    const config = `{${bed.prefix}:orders}:config`;
    await bed.redis.set(config, 'not a hash');

    for (const call of [bed.broker.fleet.configOf('orders'), bed.broker.fleet.configure('orders', 4)]) {
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
      'a command that waking needs': [[...ALL, '-publish'], /PUBLISH/],
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

        const error = await refusal(broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]));

        expect(error.message).toContain(`${at()}${DENIED}`);
        expect(error.message).not.toContain('secret');
        expect(error.transient).toBe(false);
      });
    }

    it('denies a plain command from now on: a call rejects as a permanent failure and says so', async () => {
      const broker = await brokerAs(...ALL);
      await broker.connect();
      await allow(bed, '-zrangebylex');

      const error = await refusal(broker.messages.locate(bed.partition, 'a'));

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
      await refusal(broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]));
      expect(await bed.broker.messages.get(bed.partition, 'a')).toBeUndefined();
      await allow(bed, '+zadd');

      expect(await broker.messages.publish(bed.partition, bed.nextCall(), [message('a')])).toMatchObject([
        { status: 'created' },
      ]);
    });
  });

  it('does not keep a closed client waiting', async () => {
    const closed = newRedisBroker(server.url);
    await closed.connect();
    await closed.close();

    const error = await refusal(closed.messages.stats(bed.partition));

    expect(error.message).toBe(`The connection to Redis at 127.0.0.1:${server.port} was closed`);
    expect(error.transient).toBe(false);
  });
});
