import * as ioredis from 'ioredis';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { ownerOf } from '../../lib/store/fleet/owner.js';
import type { PartitionSignal } from '../../lib/store/fleet/signals.js';
import { RedisConnection } from '../../lib/engines/redis/connection/redis-connection.js';
import { SignalSubscriber } from '../../lib/engines/redis/connection/signal-subscriber.js';
import { SystemClock } from '../../lib/time/clock.js';
import { ACK, LONG_AGO, message } from '../support/broker/broker-bed.js';
import { SILENT, newRedisBroker, openRedisBed } from '../support/broker/redis-bed.js';
import { Received } from '../support/broker/received.js';
import { until } from '../support/waiting.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

/** A channel to which a user named 'limited' may lack the right. */
const CHANNEL = '{signals}:orders';

const fail = (): Promise<never> => Promise.reject(new Error('No sharded subscriber for slot: 1'));

describe('subscriptions', () => {
  let server: PrivateRedis;
  let admin: Redis;
  let connection: RedisConnection;
  let subscriber: SignalSubscriber;
  let warnings: Received<string>;
  let received: Received<string>;
  /** How often signals began to arrive. */
  let begun: Received<void>;

  beforeEach(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
    await allow('&*');
    warnings = new Received();
    received = new Received();
    begun = new Received();
    connection = new RedisConnection(
      ioredis,
      { host: '127.0.0.1', port: server.port, username: 'limited', password: 'secret' },
      { ...SILENT, warn: warnings.listener },
      5000,
    );
    subscriber = new SignalSubscriber({
      connection,
      clock: new SystemClock(),
      log: { ...SILENT, warn: warnings.listener },
    });
    await connection.connect();
  });

  afterEach(async () => {
    subscriber.close();
    connection.close();
    admin.disconnect();
    await server.stop();
  });

  /** Creates the user, also again after the server was killed. */
  async function allow(channels: string): Promise<void> {
    await admin.acl('SETUSER', 'limited', 'on', '>secret', '~*', '+@all', channels);
  }

  function listen(): () => Promise<void> {
    return subscriber.subscribe(CHANNEL, received.listener, () => begun.listener());
  }

  async function signal(text: string): Promise<void> {
    await admin.publish(CHANNEL, text);
  }

  it('are reported when they are confirmed, and again after the connection was lost', async () => {
    listen();
    await begun.atLeast(1);
    await signal('first');
    await received.atLeast(1);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await begun.atLeast(2);
    await signal('second');

    expect(await received.atLeast(2)).toEqual(['first', 'second']);
    expect(warnings.all).toEqual([]);
  });

  it.each([
    { how: 'fails', answer: fail },
    { how: 'hangs', answer: () => new Promise<number>(() => {}) },
  ])('are made on a new client if this one keeps failing: it $how', async ({ answer }) => {
    const broken = connection.subscriber;
    broken.ssubscribe = answer;
    broken.subscribe = answer;
    listen();
    await begun.atLeast(1);
    await signal('after all');

    expect(await received.atLeast(1)).toEqual(['after all']);
    expect(connection.subscriber).not.toBe(broken);
    expect(warnings.all).toEqual([
      expect.stringMatching(/^Signals cannot be subscribed to, though Redis answers calls: .*made anew$/),
    ]);
    await until('the old client to be closed', () => broken.status === 'end');
  });

  it('wait and keep their client if calls are not answered either', async () => {
    const before = connection.subscriber;
    process.kill(Number(/^process_id:(\d+)/m.exec(await admin.info('server'))?.[1]), 'SIGSTOP');
    listen();
    // Longer than it takes to replace a client whose calls are answered.
    await new Promise((resolve) => setTimeout(resolve, 5000));
    expect(connection.subscriber).toBe(before);
    await server.kill();
    await server.start();
    await allow('&*');
    await begun.atLeast(1);
    await signal('back');

    expect(await received.atLeast(1)).toEqual(['back']);
    expect(connection.subscriber).toBe(before);
  });

  it('that are denied keep their client, are reported, and are made once they are allowed', async () => {
    const errors = new Received<Error>();
    connection.onError(errors.listener);
    await allow('resetchannels');
    await until('the client to be back', () => connection.isUp('subscriber'));
    const before = connection.subscriber;
    listen();
    await warnings.atLeast(1);
    expect(warnings.all[0]).toMatch(/^Signals cannot be subscribed to.*denies a command or key that is needed/);
    expect(errors.all[0]).toMatchObject({ code: 'BROKER_UNAVAILABLE', transient: false });
    await allow('&*');
    await begun.atLeast(1);

    expect(connection.subscriber).toBe(before);
  });

  it('end with their listener, even if they were never confirmed', async () => {
    const broken = connection.subscriber;
    broken.ssubscribe = fail;
    broken.subscribe = fail;
    await listen()();
    // Longer than it takes to replace a client.
    await new Promise((resolve) => setTimeout(resolve, 3500));

    expect(connection.subscriber).toBe(broken);
    expect(begun.all).toEqual([]);
  });
});

describe('what a settle makes due', () => {
  it.each([
    { isOwner: true, how: 'by the answer, if it is the one that settles', signals: [1] },
    {
      isOwner: false,
      how: 'by a signal, if the one before it settles what that has delivered',
      signals: [LONG_AGO, 1],
    },
  ])('is told to the owner $how', async ({ isOwner, signals }) => {
    const bed = await openRedisBed(inject('redisUrl'));
    const other = newRedisBroker(inject('redisUrl'), bed.prefix);
    try {
      await other.connect();
      await bed.claimant.acquire();
      const publish = (...ids: string[]): Promise<unknown> =>
        bed.broker.messages.publish(
          bed.partition,
          bed.nextCall(),
          ids.map((id) => message(id)),
          { order: 'continue' },
        );
      await publish('a\0k', 'b\0k');
      const { messages } = await bed.claimant.claim({ order: 'continue' });
      const [own, others] = [new Received<PartitionSignal>(), new Received<PartitionSignal>()];
      bed.broker.watchPartition(bed.partition, own.listener);
      other.watchPartition(bed.partition, others.listener);
      for (const broker of [bed.broker, other]) await broker.link.listen();

      const settlements = messages.map(({ storedId, token }) => ({ storedId, token, outcome: ACK }));
      const { owner } = bed.claimant;
      if (!isOwner) await other.fleet.acquire(bed.partition, ownerOf('next', 'other'), owner);
      expect(await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), settlements, undefined, owner)).toEqual([
        'settled',
      ]);
      expect(own.all).toEqual(isOwner ? [{ kind: 'due', at: LONG_AGO }] : []);
      // What is sent last shows what was sent before.
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('last', { due: { at: 1 } })]);
      expect(await others.atLeast(signals.length)).toEqual(signals.map((at) => ({ kind: 'due', at })));
    } finally {
      await other.close();
      await bed.close();
    }
  });
});
