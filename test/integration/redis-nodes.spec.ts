import { setTimeout as sleep } from 'node:timers/promises';
import * as ioredis from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CallId, Partition } from '../../lib/store/partition.js';
import { RedisConnection } from '../../lib/engines/redis/connection/redis-connection.js';
import { StoreKeys } from '../../lib/store/keys.js';
import { FEWEST_TRAITS } from '../../lib/engines/redis/connection/server-info.js';
import { SignalSubscriber } from '../../lib/engines/redis/connection/signal-subscriber.js';
import { SystemClock } from '../../lib/time/clock.js';
import type { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import { BrokerUnavailableError } from '../../lib/errors/operation.errors.js';
import { SILENT, newRedisBroker } from '../support/broker/redis-bed.js';
import { Received } from '../support/broker/received.js';
import { FakeCluster, type FakeNode } from '../support/servers/fake-cluster.js';
import { servesClusters } from '../support/servers/ioredis.js';
import { eventually, until } from '../support/waiting.js';

const PREFIX = 'nodes';
const TOPIC = 'orders';
const keys = new StoreKeys(PREFIX);

let sequence = 0;
const nextCall = (): CallId => ({ caller: 'test', sequence: ++sequence });

it('a single server has a clock, and is missed while it is away', async () => {
  const cluster = await FakeCluster.start(1);
  const [server] = cluster.nodes as [FakeNode];
  server.ahead = 100_000;
  const broker = newRedisBroker({ host: '127.0.0.1', port: server.port }, PREFIX);
  try {
    await broker.connect();
    expect(broker.now({ topic: TOPIC, index: 0 }) - Date.now()).toBeGreaterThan(50_000);
    expect([broker.link.unreachable, broker.link.losesSignals]).toEqual([[], false]);
    await server.stop();
    await until('it to be missed', () => broker.link.unreachable.length === 1);
    expect(broker.link.unreachable).toMatchObject([{ address: server.address }]);
    await server.start();
    await until('it to be found', () => broker.link.unreachable.length === 0);
  } finally {
    await broker.close();
    await cluster.stop();
  }
});

describe.each(servesClusters ? [3] : [])('the %i nodes of a cluster', (size) => {
  let cluster: FakeCluster;
  let broker: RedisBroker;

  beforeEach(async () => {
    cluster = await FakeCluster.start(size);
    broker = newRedisBroker(cluster.settings, PREFIX);
  });
  afterEach(async () => {
    await broker.close();
    await cluster.stop();
  });

  /** How often the nodes were asked for their slots. */
  function slotLooks(): number {
    const calls = cluster.nodes.flatMap((node) => node.calls);
    return calls.filter(([name, first]) => name?.toUpperCase() === 'CLUSTER' && first?.toUpperCase() === 'SLOTS')
      .length;
  }

  /** A partition that a node holds. */
  function partitionOf(node: FakeNode): Partition {
    for (let index = 0; ; index++) {
      const key = keys.partition({ topic: TOPIC, index }).scheduled;
      if (cluster.holderOf(key) === node) return { topic: TOPIC, index };
    }
  }

  const [first, second, third] = [0, 1, 2].map((i) => () => cluster.nodes[i] as FakeNode) as [
    () => FakeNode,
    () => FakeNode,
    () => FakeNode,
  ];

  /** How far the clock that decides about a node's partitions is taken to be ahead, to a second. */
  const aheadOf = (node: FakeNode): number =>
    Math.round((broker.now(partitionOf(node)) - Date.now()) / 1000) * 1000 + 0;

  describe('have clocks of their own', () => {
    beforeEach(async () => {
      second().ahead = 100_000;
      third().ahead = -3_000_000;
      await broker.connect();
    });

    it('from the beginning', () => {
      expect(cluster.nodes.map(aheadOf)).toEqual([0, 100_000, -3_000_000]);
    });

    it('which are looked at with each ping, so that a timer learns of a clock that was set', async () => {
      const steps = new Received<void>();
      const end = broker.onClockStep(() => steps.listener());
      third().ahead = 7_200_000;
      await broker.link.ping();
      await steps.atLeast(1);
      end();

      // The first answer is enough for a ping.
      await eventually(() => expect(cluster.nodes.map(aheadOf)).toEqual([0, 100_000, 7_200_000]));
    });

    it('which every call of a partition shows', async () => {
      second().ahead = 200_000;
      await broker.deliveries.pause(partitionOf(second()), nextCall());

      expect(cluster.nodes.map(aheadOf)).toEqual([0, 200_000, -3_000_000]);
    });
  });

  describe('if one is away', () => {
    it('are used all the same, from the boot on, and are known by name', async () => {
      await second().stop();
      const before = Date.now();
      await broker.connect();
      await broker.deliveries.pause(partitionOf(first()), nextCall());
      await broker.link.ping();

      expect(broker.link.unreachable).toMatchObject([
        { address: second().address, error: { message: expect.stringContaining('ECONNREFUSED') } },
      ]);
      expect(broker.link.unreachable[0]?.since.getTime()).toBeGreaterThanOrEqual(before - 1);
      const error: unknown = await broker.deliveries
        .pause(partitionOf(second()), nextCall())
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(BrokerUnavailableError);
      expect(error).toMatchObject({
        transient: true,
        message: expect.stringMatching(`^Redis at ${second().address} of cluster .* failed: connect ECONNREFUSED`),
      });
    });

    it('are looked at by the doctor, who names the one that is away', async () => {
      await broker.connect();
      const names = async (): Promise<string[]> => {
        const findings = await broker.inspect(500);
        return findings.flatMap(({ check, level, message }) =>
          check === 'connection' && level === 'error' ? [message] : [],
        );
      };
      expect(await names()).toEqual([]);
      await second().stop();
      await until('it to be missed', () => broker.link.unreachable.length === 1);
      expect(await names()).toEqual([expect.stringContaining(second().address)]);
    });

    it('are known to be there again', async () => {
      await broker.connect();
      expect(broker.link.unreachable).toEqual([]);
      await second().stop();
      await until('it to be missed', () => broker.link.unreachable.length === 1);
      second().ahead = 50_000;
      await second().start();
      await until('it to be found', async () => {
        await broker.link.ping();
        return broker.link.unreachable.length === 0;
      });
      await until('its clock to be known', () => aheadOf(second()) === 50_000);
    });

    it('are left alone: calls to it are refused at once, and the others asked for its slots a few times a second', async () => {
      await broker.connect();
      const listening = new Received<void>();
      broker.watchPartition(
        partitionOf(second()),
        () => {},
        () => listening.listener(),
      );
      await listening.atLeast(1);
      await second().stop();
      const refused = async (): Promise<unknown> =>
        broker.deliveries.pause(partitionOf(second()), nextCall()).catch((error: unknown) => error);
      expect(await refused()).toBeInstanceOf(BrokerUnavailableError);
      const before = slotLooks();
      const from = performance.now();
      let calls = 0;
      for (; performance.now() < from + 1000; calls++) {
        expect(await refused()).toBeInstanceOf(BrokerUnavailableError);
        await sleep(10);
      }
      const seconds = (performance.now() - from) / 1000;

      // One that ioredis tries 16 times takes more than a second.
      expect(calls).toBeGreaterThan(5);
      // Four a second for calls, and as many for signals.
      expect(slotLooks() - before).toBeLessThanOrEqual(8 * seconds + 2);
      await second().start();
      await until('calls to be served', async () => !((await refused()) instanceof Error));
      await listening.atLeast(2);
    });

    it('are not missed any more once they answer, whatever has failed', async () => {
      await broker.connect();
      broker.client.emit('node error', new Error('timeout'), second().address);
      expect(broker.link.unreachable).toMatchObject([{ address: second().address, error: { message: 'timeout' } }]);
      await broker.link.ping();

      await eventually(() => expect(broker.link.unreachable).toEqual([]));
    });

    it('cannot be used if all are', async () => {
      await cluster.stop();
      const connecting = newRedisBroker(cluster.settings, PREFIX, 1000);

      await expect(connecting.connect()).rejects.toThrow(BrokerUnavailableError);
      await connecting.close();
    });
  });

  it('are asked now and then whether signals still come; one that is silent gets new connections', async () => {
    const clock = new SystemClock();
    const connection = new RedisConnection(ioredis, cluster.settings, SILENT, 5000, clock);
    const warnings = new Received<string>();
    const log = { ...SILENT, warn: warnings.listener };
    const subscriber = new SignalSubscriber({ connection, clock, log, checkPeriod: 100 });
    try {
      await connection.connect();
      const listening = new Received<string>();
      for (const node of cluster.nodes) {
        subscriber.subscribe(
          keys.partition(partitionOf(node)).channel,
          () => {},
          () => listening.listener(node.address),
        );
      }
      await listening.atLeast(3);
      await until('all to be asked', () => cluster.nodes.every((node) => asked(node) > 0));
      const before = connection.subscriber;
      second().isDeaf = true;
      await until('a new client', () => connection.subscriber !== before);
      second().isDeaf = false;
      await listening.atLeast(6);

      expect(warnings.all[0]).toContain(`Signals from Redis at ${second().address} do not come through any more`);
      expect(connection.isUp('commands')).toBe(true);
    } finally {
      subscriber.close();
      connection.close();
    }
  });

  it.each([true, false])('lose signals on their bus, unless each keeps its own: %s', async (shardedPubSub) => {
    for (const node of cluster.nodes) node.traits = { scriptFlags: true, shardedPubSub };
    await broker.connect();

    expect(broker.link.losesSignals).toBe(!shardedPubSub);
  });

  describe('that can do different things, though they tell the same version', () => {
    it('are each told to signal as they can, and listened to likewise', async () => {
      first().traits = FEWEST_TRAITS;
      await broker.connect();
      broker.watchPartition(partitionOf(first()), () => {});
      broker.watchPartition(partitionOf(second()), () => {});
      await broker.link.listen();
      await broker.deliveries.resume(partitionOf(first()), nextCall());
      await broker.deliveries.resume(partitionOf(second()), nextCall());

      expect(signalsOf(first()).at(-1)).toBe('PUBLISH');
      expect(signalsOf(second()).at(-1)).toBe('SPUBLISH');
      expect(first().commands).not.toContain('SSUBSCRIBE');
      expect(second().commands).toContain('SSUBSCRIBE');
      expect(cluster.nodes.flatMap(({ commands }) => commands)).toContain('SUBSCRIBE');
    });

    it('are looked at again with each new connection, and subscribed to in the new way', async () => {
      first().traits = FEWEST_TRAITS;
      await broker.connect();
      const listening = new Received<void>();
      broker.watchPartition(
        partitionOf(first()),
        () => {},
        () => listening.listener(),
      );
      await listening.atLeast(1);
      await broker.deliveries.resume(partitionOf(first()), nextCall());
      expect(signalsOf(first()).at(-1)).toBe('PUBLISH');
      await first().stop();
      first().traits = second().traits;
      await first().start();
      await eventually(async () => {
        await broker.deliveries.resume(partitionOf(first()), nextCall());
        expect(signalsOf(first()).at(-1)).toBe('SPUBLISH');
      });
      await until('the new kind of subscription', () => first().commands.includes('SSUBSCRIBE'));
      // Signals that were sent in between may be lost, so it is time to look.
      await listening.atLeast(2);
    });
  });
});

/** How often a node was asked whether signals still come. */
function asked({ calls }: FakeNode): number {
  return calls.filter((words) => words[1]?.endsWith(':check')).length;
}

/** The commands by which scripts were told to signal. */
function signalsOf({ calls }: FakeNode): string[] {
  const scripts = calls.filter(([name = '']) => name.toUpperCase() === 'EVALSHA');
  return scripts.flatMap((words) => words.filter((word) => word.endsWith('PUBLISH')));
}
