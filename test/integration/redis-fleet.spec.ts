import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { ownerOf } from '../../lib/store/fleet/owner.js';
import type { SessionSignal } from '../../lib/store/fleet/signals.js';
import { PROTOCOL_BEFORE, PROTOCOL_VERSION } from '../../lib/store/fleet/topic-config.js';
import { type FleetKeys, StoreKeys } from '../../lib/store/keys.js';
import { LONG } from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';
import { type RedisBed, openRedisBed } from '../support/broker/redis-bed.js';
import { IS_REDIS_7 } from '../support/servers/redis-server.js';

const HEARTBEAT = { session: 'host:1:uuid', count: 1, length: LONG, digest: 'd' };

let bed: RedisBed;
let fleet: FleetKeys;
let config: string;
beforeEach(async () => {
  bed = await openRedisBed(inject('redisUrl'));
  const keys = new StoreKeys(bed.prefix);
  fleet = keys.fleet;
  ({ config } = keys.topic('orders'));
});
afterEach(() => bed.close());

describe('a heartbeat', () => {
  it('is two commands, and four that are first', async () => {
    const sent: string[] = [];
    const client = bed.broker.client as Redis;
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, ...rest) => {
      sent.push(command.name);
      return send(command, ...rest);
    };
    await bed.broker.fleet.heartbeat(HEARTBEAT);
    await bed.broker.fleet.heartbeat({ ...HEARTBEAT, count: 2 });

    expect(sent).toEqual(['hset', 'hgetall', 'hsetnx', 'hget', 'hset', 'hgetall']);
  });

  it('is stored as the documents say', async () => {
    const before = Date.now();
    await bed.broker.fleet.heartbeat({ ...HEARTBEAT, length: 12_500.4 });
    const stored = await bed.redis.hget(fleet.sessions, HEARTBEAT.session);
    const [, at] = /^1 (\d+) 12500 d$/.exec(stored ?? '') ?? [];
    expect(Number(at)).toBeGreaterThan(before - 1000);
    await bed.broker.fleet.leave({ ...HEARTBEAT, count: 2, protocol: 3 });

    expect(await bed.redis.hget(fleet.sessions, HEARTBEAT.session)).toMatch(/^2 \d+ 60000 d p3 left$/);
  });

  it('reads a session to which a later version has added words', async () => {
    await bed.redis.hset(fleet.sessions, { later: '1 2 3 d x=1', left: '1 2 3 d left x=1' });
    expect(await bed.broker.fleet.sessions()).toMatchObject([
      { session: 'later', count: 1, digest: 'd', left: false },
      { session: 'left', digest: 'd', left: true },
    ]);
  });

  it('leaves out what is no session, which can be forgotten by its name', async () => {
    const foreign = {
      '': 'x',
      a: '1 2 3',
      b: '-1 2 3 d',
      d: `${'9'.repeat(16)} 2 3 d`,
      e: '1 1e9 3 d',
      f: '\0',
      'no\nname': 'left',
    };
    await bed.redis.hset(fleet.sessions, foreign);
    const { sessions } = await bed.broker.fleet.heartbeat(HEARTBEAT);
    expect(sessions.map(({ session }) => session)).toEqual([HEARTBEAT.session]);
    expect(await bed.broker.fleet.sessions()).toEqual(sessions);
    await bed.broker.fleet.forget(Object.keys(foreign));

    expect((await bed.redis.hkeys(fleet.sessions)).toSorted()).toEqual([HEARTBEAT.session, 'mark'].toSorted());
  });
});

describe('the lists of topics', () => {
  it('count as not there if they cannot be read', async () => {
    const foreign = { a: 'x', b: '{}', c: '[1]', d: '["a","}"]', e: 'null', f: '["a"]' };
    await bed.redis.hset(fleet.handled, foreign);

    const lists = await bed.broker.fleet.rememberedTopics(Object.keys(foreign));
    expect(lists).toEqual([undefined, undefined, undefined, undefined, undefined, ['a']]);
  });

  it('stay as long as a session names them, even one that a later version has written', async () => {
    await bed.redis.hset(fleet.sessions, 'later', '1 2 3 d and more');
    for (const digest of ['d', 'other']) await bed.broker.fleet.rememberTopics({ digest, topics: ['orders'] });
    await bed.broker.fleet.forget([]);
    await bed.broker.fleet.forget(['nobody']);

    expect(await bed.broker.fleet.rememberedTopics(['d', 'other'])).toEqual([['orders'], undefined]);
  });
});

describe('a topic is stored twice', () => {
  const ours = { partitions: 16, protocol: PROTOCOL_VERSION };

  it('and each copy is written again from the other', async () => {
    await bed.broker.fleet.configure('orders', 16);
    await bed.redis.del(config);
    expect(await bed.broker.fleet.configOf('orders')).toEqual(ours);
    expect(await bed.broker.fleet.configure('orders', 8)).toEqual(ours);
    expect(await bed.redis.hgetall(config)).toEqual({ partitions: '16', protocol: String(PROTOCOL_VERSION) });

    await bed.redis.del(fleet.topics);
    expect(await bed.broker.fleet.configsOf(['orders'])).toEqual([undefined]);
    expect(await bed.broker.fleet.configure('orders', 8)).toEqual(ours);
    expect(await bed.broker.fleet.configsOf(['orders'])).toEqual([ours]);
    expect(await bed.broker.fleet.topics()).toEqual(['orders']);
  });

  it('and the first copy is the truth', async () => {
    await bed.broker.fleet.configure('orders', 16);
    await bed.redis.hset(fleet.topics, 'orders', `8 ${PROTOCOL_VERSION}`);

    expect(await bed.broker.fleet.configOf('orders')).toEqual(ours);
    expect(await bed.broker.fleet.configure('orders', 4)).toEqual(ours);
    expect(await bed.redis.hget(fleet.topics, 'orders')).toBe(`16 ${PROTOCOL_VERSION}`);
  });

  it.each([
    '',
    'x',
    '8',
    `0 ${PROTOCOL_VERSION}`,
    `1025 ${PROTOCOL_VERSION}`,
    `NaN ${PROTOCOL_VERSION}`,
    '8 2 2',
    ' 8 2',
  ])('and a second copy of %j counts as missing', async (copy) => {
    await bed.redis.hset(fleet.topics, 'orders', copy);
    expect(await bed.broker.fleet.configOf('orders')).toBeUndefined();
    expect(await bed.broker.fleet.configsOf(['orders'])).toEqual([undefined]);

    expect(await bed.broker.fleet.configure('orders', 16)).toEqual(ours);
    expect(await bed.broker.fleet.configsOf(['orders'])).toEqual([ours]);
  });

  it.each(['', 'x', '0', '1025', '8.5', '-8', 'NaN', '8\n', '9'.repeat(400)])(
    'and a number of %j in the first is mended from the second, or refused if that is gone',
    async (damaged) => {
      await bed.broker.fleet.configure('orders', 16);
      await bed.redis.hset(config, 'partitions', damaged);
      expect(await bed.broker.fleet.configOf('orders')).toEqual(ours);
      expect(await bed.broker.fleet.configure('orders', 8)).toEqual(ours);
      expect(await bed.redis.hget(config, 'partitions')).toBe('16');

      await bed.redis.hset(config, 'partitions', damaged);
      await bed.redis.del(fleet.topics);
      for (const call of [bed.broker.fleet.configOf('orders'), bed.broker.fleet.configure('orders', 8)]) {
        const message = expect.stringContaining(`HSET ${config} partitions <number>`) as string;
        await expect(call).rejects.toMatchObject({
          code: 'BROKER_UNAVAILABLE',
          transient: false,
          refused: true,
          message,
        });
      }
      expect(await bed.redis.exists(fleet.topics)).toBe(0);
      expect(await bed.redis.hget(config, 'partitions')).toBe(damaged);
    },
  );

  it('and is written again with the later protocol of both', async () => {
    await bed.broker.fleet.configure('orders', 16);
    await bed.redis.del(config);
    expect(await bed.broker.fleet.configure('orders', 8, undefined, {}, PROTOCOL_BEFORE)).toEqual(ours);

    await bed.redis.hset(config, 'protocol', String(PROTOCOL_BEFORE));
    expect(await bed.broker.fleet.configure('orders', 8, undefined, {}, PROTOCOL_BEFORE)).toEqual(ours);

    await bed.redis.hset(fleet.topics, 'orders', `16 ${PROTOCOL_BEFORE}`);
    expect(await bed.broker.fleet.configure('orders', 8, undefined, {}, PROTOCOL_BEFORE)).toEqual(ours);
    expect(await bed.redis.hget(fleet.topics, 'orders')).toBe(`16 ${PROTOCOL_VERSION}`);
  });

  it('and another version of the protocol is left as it is', async () => {
    await bed.redis.hset(config, { partitions: '4', protocol: '1' });

    expect(await bed.broker.fleet.configOf('orders')).toEqual({ partitions: 4, protocol: 1 });
    expect(await bed.broker.fleet.configure('orders', 8)).toEqual({ partitions: 4, protocol: 1 });
    expect(await bed.broker.fleet.configsOf(['orders'])).toEqual([{ partitions: 4, protocol: 1 }]);
    expect(await bed.redis.hgetall(config)).toEqual({ partitions: '4', protocol: '1' });
  });

  it('and words that a later version has added to either are no damage', async () => {
    const limits = 'burst=9,rate=50/1000,flight=10,later=3,keyflight=2';
    const known = {
      ...ours,
      order: 'block',
      limits: { rate: { max: 50, per: 1000, by: 'topic' }, inFlight: { topic: 10, key: 2 } },
    };
    await bed.redis.hset(fleet.topics, 'orders', `16 ${PROTOCOL_VERSION} block ${limits} more=1 words`);
    expect(await bed.broker.fleet.configsOf(['orders'])).toEqual([known]);

    await bed.redis.hset(config, { ...ours, order: 'block', limits, more: 'words' });
    expect(await bed.broker.fleet.configOf('orders')).toEqual(known);
    expect(await bed.broker.fleet.configure('orders', 8)).toEqual(known);
    expect(await bed.redis.hgetall(config)).toMatchObject({ limits, more: 'words' });
  });

  it('and names that no topic can have are left out', async () => {
    await bed.broker.fleet.configure('orders', 16);
    await bed.redis.hset(fleet.topics, { 'a}b': '8 2', '': '8 2', [`x${'y'.repeat(128)}`]: '8 2', 'a b': '' });

    expect(await bed.broker.fleet.topics()).toEqual(['orders']);
  });
});

describe('a key of the fleet that holds another type than ours', () => {
  it.each(['sessions', 'handled', 'topics'] as const)('%s: is set aside, and everything goes on', async (name) => {
    const { broker, redis } = bed;
    const calls: Record<typeof name, readonly (() => Promise<unknown>)[]> = {
      sessions: [
        () => broker.fleet.heartbeat(HEARTBEAT),
        () => broker.fleet.leave(HEARTBEAT),
        () => broker.fleet.sessions(),
        () => broker.fleet.forget(['a']),
      ],
      handled: [
        () => broker.fleet.rememberTopics({ digest: 'd', topics: ['a'] }),
        () => broker.fleet.rememberedTopics(['d']),
        () => broker.fleet.forget(['a']),
      ],
      topics: [
        () => broker.fleet.configure('orders', 4),
        () => broker.fleet.configOf('other'),
        () => broker.fleet.configsOf(['orders']),
        () => broker.fleet.topics(),
      ],
    };
    for (const call of calls[name]) {
      await redis.del(fleet[name], `${fleet[name]}:set-aside`);
      await redis.rpush(fleet[name], 'a list');
      await call();
      expect(await redis.lrange(`${fleet[name]}:set-aside`, 0, -1)).toEqual(['a list']);
      expect(await redis.type(fleet[name])).not.toBe('list');
    }
  });
});

describe('an owner that another program has written', () => {
  it.each(['', ' ', 'x', '1a', '1a b c', 'host:1:of-protocol-1', 'ümläut \u{1F600}'])(
    '%j: is replaced by who has seen it',
    async (foreign) => {
      const { broker, partition, redis, keys } = bed;
      const owner = ownerOf('2b', 'm');
      await redis.set(keys.owner, foreign);
      expect(await broker.fleet.acquire(partition, owner, undefined)).toEqual({ acquired: false, owner: foreign });

      expect(await broker.fleet.acquire(partition, owner, foreign)).toEqual({ acquired: true });
      expect((await broker.messages.stats(partition)).owner).toBe('m');
    },
  );

  it('is replaced even if it is no text', async () => {
    const { broker, partition, redis, keys } = bed;
    const bytes = Buffer.from([0xff, 0x20, 0xc3, 0x28, 0x00, 0xf0, 0x9f]);
    await redis.set(keys.owner, bytes);
    const seen = await broker.fleet.acquire(partition, ownerOf('2b', 'm'), undefined);
    if (seen.acquired) throw new Error('something is stored');

    expect(await broker.fleet.acquire(partition, ownerOf('2b', 'm'), `${seen.owner}x`)).toMatchObject({
      acquired: false,
    });
    expect(await redis.getBuffer(keys.owner)).toEqual(bytes);
    expect(await broker.fleet.acquire(partition, ownerOf('2b', 'm'), seen.owner)).toEqual({ acquired: true });
  });
});

describe('the channel of a session', () => {
  it('brings nothing that is no signal', async () => {
    const { broker } = bed;
    const received = new Received<SessionSignal>();
    broker.watchSession('m', received.listener);
    await broker.link.listen();
    const partition = { topic: 'orders', index: 3 };
    const foreign = [
      'changed',
      '',
      '"changed"',
      'null',
      '[]',
      '{"kind":"other"}',
      '{"kind":"echo"}',
      '{"kind":"echo","count":"1"}',
      '{"kind":"wanted","owner":"a b"}',
      JSON.stringify({ kind: 'wanted', owner: 1, partition }),
      JSON.stringify({ kind: 'wanted', owner: 'a b', partition: { topic: 'a}', index: 3 } }),
      JSON.stringify({ kind: 'wanted', owner: 'a b', partition: { ...partition, index: 1024 } }),
      JSON.stringify({ kind: 'wanted', owner: 'a b', partition: { ...partition, index: -1 } }),
    ];
    const channel = new StoreKeys(bed.prefix).sessionChannel('m');
    for (const text of foreign) {
      await (IS_REDIS_7 ? bed.redis.spublish(channel, text) : bed.redis.publish(channel, text));
    }
    await broker.fleet.tell({ to: 'm', signal: { kind: 'wanted', owner: 'a b', partition } });
    await received.atLeast(1);

    expect(received.all).toEqual([{ kind: 'wanted', owner: 'a b', partition }]);
  });
});
