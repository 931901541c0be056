import * as ioredis from 'ioredis';
import type { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { RedisConnection } from '../../lib/engines/redis/connection/redis-connection.js';
import type { Log } from '../../lib/log.js';
import { FakeSentinel } from '../support/servers/fake-sentinel.js';
import { startRedis } from '../support/servers/redis-server.js';
import { eventually, until } from '../support/waiting.js';

const GROUP = 'main';

describe('Sentinels that swap the primary for another server', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  async function started<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
    const server = await starting;
    cleanups.push(() => server.stop());
    return server;
  }

  /** Two Sentinels, the server that they name, and one that they will; both take writes, as after a graceful failover. */
  async function group() {
    const [former, next] = [await started(startRedis()), await started(startRedis())];
    const sentinels = [
      await started(FakeSentinel.start(GROUP, former.port)),
      await started(FakeSentinel.start(GROUP, former.port)),
    ] as const;
    return { former, next, sentinels };
  }

  async function connect(sentinels: readonly FakeSentinel[], { listened = true } = {}) {
    const lines: string[] = [];
    const write = (line: string): void => void lines.push(line);
    const log: Log = { log: write, warn: write, error: write };
    const settings = { name: GROUP, sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })) };
    const connection = new RedisConnection(ioredis, settings, log, 5000);
    cleanups.push(() => connection.close());
    await connection.connect();
    if (listened)
      await until('the Sentinels to be listened to', () => sentinels.every(({ listeners }) => listeners === 1));
    return { connection, lines };
  }

  it('are followed by all connections at once, although the former primary goes on serving', async () => {
    const { next, sentinels } = await group();
    const { connection, lines } = await connect(sentinels);
    const reader = connection.openAnother();
    const link = connection.openForReplicas(connection.commands as Redis);
    cleanups.push(
      () => reader.disconnect(),
      () => link.disconnect(),
    );
    await Promise.all([reader.ping(), link.ping()]);

    for (const sentinel of sentinels) sentinel.swap(next.port);
    await eventually(() =>
      expect(portsOf(connection.commands, connection.subscriber, reader, link)).toEqual([next.port]),
    );

    expect(lines.filter((line) => line.includes('has another primary'))).toHaveLength(1);
  });

  it('are followed even if the one that is asked then has not heard of it', async () => {
    const { former, next, sentinels } = await group();
    const { connection } = await connect(sentinels);
    const [first, second] = sentinels;
    const { stream } = connection.commands as Redis;

    first.swap(next.port);
    await until('the connection to be made anew', () => {
      const { status, stream: latest } = connection.commands as Redis;
      return status === 'ready' && latest !== stream;
    });
    // ioredis asks one after the other.
    expect(portOf(connection.commands)).toBe(former.port);
    second.swap(next.port);
    await eventually(() => expect(portsOf(connection.commands, connection.subscriber)).toEqual([next.port]));
  });

  it('leave connections alone that are there, and those of other groups', async () => {
    const { former, sentinels } = await group();
    const { connection } = await connect(sentinels);
    const { stream } = connection.commands as Redis;

    for (const sentinel of sentinels) {
      sentinel.tell(`${GROUP} 127.0.0.1 1 127.0.0.1 ${former.port}`);
      sentinel.tell('another 127.0.0.1 1 127.0.0.1 2');
    }
    // By then what was told before has come.
    await new Promise((resolve) => setTimeout(resolve, 200));

    expect((connection.commands as Redis).stream).toBe(stream);
    expect(stream.destroyed).toBe(false);
  });

  it('may be away', async () => {
    const { next, sentinels } = await group();
    const [first, second] = sentinels;
    const { connection } = await connect(sentinels);
    await first.stop();
    second.swap(next.port);

    await eventually(() => expect(portsOf(connection.commands)).toEqual([next.port]));
  });

  it('may hang while they are asked', async () => {
    const { sentinels } = await group();
    sentinels[0].isHung = true;

    // Fails unless the other one is asked in time.
    const { connection } = await connect(sentinels);
    expect(await connection.commands.ping()).toBe('PONG');
  });

  it('may hang while connections that only read are to follow', async () => {
    const { former, next, sentinels } = await group();
    const { connection } = await connect(sentinels);
    const reader = connection.openAnother();
    cleanups.push(() => reader.disconnect());
    await reader.ping();
    const { subscriber } = connection;
    await former.ask(async (client) => client.replicaof('127.0.0.1', next.port));
    for (const sentinel of sentinels) sentinel.isHung = true;

    reader.disconnect(true);
    await until('the reader to ask', () => sentinels.some(({ unanswered }) => unanswered > 0));
    await connection.commands.set('a', 'b').catch(() => {});
    await until('readers to be made anew', () => connection.subscriber !== subscriber);
    for (const sentinel of sentinels) {
      sentinel.isHung = false;
      sentinel.swap(next.port);
    }

    await eventually(() => expect(portsOf(connection.commands, connection.subscriber, reader)).toEqual([next.port]));
  });

  it('may refuse to tell, which is worth one warning', async () => {
    const { sentinels } = await group();
    for (const sentinel of sentinels) sentinel.refusesListeners = true;
    const { lines } = await connect(sentinels, { listened: false });

    await until('the warning', () => lines.length > 0);
    expect(lines).toEqual([expect.stringContaining('do not tell this user of failovers')]);
  });

  it('are no outage, however often they do so', async () => {
    const { former, next, sentinels } = await group();
    const { connection, lines } = await connect(sentinels);
    const errors: Error[] = [];
    connection.onError((error) => errors.push(error));
    for (const { port } of [next, former, next, former]) {
      for (const sentinel of sentinels) sentinel.swap(port);
      await until('the connection to be there', () => portOf(connection.commands) === port);
    }

    expect(errors).toEqual([]);
    expect(lines.filter((line) => !line.includes('has another primary'))).toEqual([]);
  });
});

/** Where a connection leads; `undefined` if it is not there. */
function portOf(client: unknown): number | undefined {
  const { status, stream } = client as Redis;
  return status === 'ready' ? stream.remotePort : undefined;
}

/** Where connections lead. */
function portsOf(...clients: unknown[]): (number | undefined)[] {
  return [...new Set(clients.map(portOf))];
}
