import * as ioredis from 'ioredis';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PublishResult } from '../../lib/store/messages/publish.js';
import type { CallId } from '../../lib/store/partition.js';
import { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import { StoreKeys } from '../../lib/store/keys.js';
import { ConfigurationError } from '../../lib/errors/options.errors.js';
import type { Log } from '../../lib/log.js';
import { SystemClock } from '../../lib/time/clock.js';
import { LONG, message } from '../support/broker/broker-bed.js';
import { SILENT, ifServed, newRedisBroker } from '../support/broker/redis-bed.js';
import { FaultProxy } from '../support/servers/fault-proxy.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';
import { type ReplicatedRedis, hasReplicas, startReplicated } from '../support/servers/replicated-redis.js';
import { until } from '../support/waiting.js';

const PARTITION = { topic: 'orders', index: 0 };
const BOTH = { min: 2, timeout: LONG };

describe('publishes that replicas confirm', () => {
  let servers: ReplicatedRedis;
  let proxy: FaultProxy;
  let primary: Redis;
  let broker: RedisBroker;
  let prefix: string;
  let sequence = 0;
  const stopped = new Set<PrivateRedis>();

  beforeAll(async () => {
    servers = await startReplicated(2);
    proxy = await FaultProxy.start(servers.primary.port);
    primary = new Redis(servers.primary.url);
  });

  afterAll(async () => {
    primary.disconnect();
    await proxy.close();
    await servers.stop();
  });

  beforeEach(async () => {
    prefix = `replicas-${++sequence}`;
    broker = newRedisBroker(proxy.url, prefix);
    await broker.connect();
  });

  afterEach(async () => {
    thaw();
    await broker.close();
    await hasReplicas(servers.primary, 2);
  });

  const nextCall = (): CallId => ({ caller: 'test', sequence: ++sequence });

  async function publish(id: string, replicas = BOTH, call = nextCall()): Promise<PublishResult> {
    const [result] = await broker.messages.publish(PARTITION, call, [message(id)], { replicas });
    return result as PublishResult;
  }

  /** Freezes replicas, so that they confirm nothing. */
  function freeze(...replicas: readonly PrivateRedis[]): void {
    for (const replica of replicas) {
      stopped.add(replica);
      replica.signal('SIGSTOP');
    }
  }

  function thaw(): void {
    for (const replica of stopped) replica.signal('SIGCONT');
    stopped.clear();
  }

  const isWaiting = async (): Promise<boolean> => /^blocked_clients:1\b/m.test(await primary.info('clients'));

  it('are answered when so many replicas have the message', async () => {
    await expect(publish('a')).resolves.toMatchObject({ status: 'created', confirmedBy: 2 });

    for (const replica of servers.replicas) expect(await holds(replica, 'a')).toBe(true);
  });

  it('are answered with fewer when the time is over; the message is stored', async () => {
    freeze(servers.replicas[1] as PrivateRedis);

    await expect(publish('a', { min: 2, timeout: 200 })).resolves.toMatchObject({ confirmedBy: 1 });
    expect(await broker.messages.get(PARTITION, 'a')).toBeDefined();
  });

  it('do not count the replicas that confirmed something else: a repeat writes first', async () => {
    await publish('before');
    const call = nextCall();
    freeze(...servers.replicas);
    await broker.messages.publish(PARTITION, call, [message('a')]);
    const answered = new StoreKeys(prefix).answered(PARTITION, call.caller);
    await primary.pexpire(answered, LONG);

    // The first run went over another connection, so this one has written nothing yet.
    await expect(publish('a', { min: 1, timeout: 200 }, call)).resolves.toMatchObject({
      status: 'created',
      confirmedBy: 0,
    });
    expect(await primary.pttl(answered)).toBeGreaterThan(LONG);
  });

  it('keep no other call waiting', async () => {
    freeze(...servers.replicas);
    const waiting = publish('a');
    await until('the publish to wait', isWaiting);

    expect(await broker.messages.get(PARTITION, 'a')).toBeDefined();
    await broker.messages.publish(PARTITION, { caller: 'other', sequence: 1 }, [message('b')]);
    expect(await isWaiting()).toBe(true);
    thaw();
    await expect(waiting).resolves.toMatchObject({ confirmedBy: 2 });
  });

  it('wait together, also those of several partitions; those that ask for something else wait for themselves', async () => {
    await publish('before');
    await primary.config('RESETSTAT');
    const publishes = Array.from({ length: 32 }, async (_, n) => {
      const replicas = { min: 2, timeout: n < 16 ? LONG : LONG / 2 };
      return broker.messages.publish({ topic: 'orders', index: n % 16 }, nextCall(), [message(`m${n}`)], { replicas });
    });
    await Promise.all(publishes);

    const [, waits] = /cmdstat_wait:calls=(\d+)/.exec(await primary.info('commandstats')) ?? [];
    expect(Number(waits)).toBe(2);
  });

  it('can be repeated if their connection is lost while they wait', async () => {
    freeze(...servers.replicas);
    const call = nextCall();
    const waiting = publish('a', BOTH, call).catch((error: unknown) => error);
    await until('the publish to wait', isWaiting);
    proxy.reset();

    await expect(waiting).resolves.toMatchObject({ transient: true });
    thaw();
    await expect(repeat('a', call)).resolves.toMatchObject({ status: 'created', confirmedBy: 2 });
    expect(await broker.messages.stats(PARTITION)).toMatchObject({ counters: { published: 1 } });
  });

  it('can be repeated if the primary becomes a replica while they wait', async () => {
    freeze(...servers.replicas);
    const call = nextCall();
    const waiting = publish('a', BOTH, call).catch((error: unknown) => error);
    await until('the publish to wait', isWaiting);
    await primary.replicaof('127.0.0.1', 1);

    await expect(waiting).resolves.toMatchObject({ transient: true, message: expect.stringMatching(/replica|lost/) });
    await expect(publish('a', BOTH, call)).rejects.toMatchObject({ transient: true });
    await primary.replicaof('NO', 'ONE');
    thaw();
    await expect(repeat('a', call)).resolves.toMatchObject({ status: 'created', confirmedBy: 2 });
  });

  it('work after Redis has forgotten the scripts', async () => {
    await publish('a');
    await primary.script('FLUSH');

    await expect(publish('b')).resolves.toMatchObject({ confirmedBy: 2 });
  });

  it('fail when the broker is closed', async () => {
    freeze(...servers.replicas);
    const waiting = publish('a').catch((error: unknown) => error);
    await until('the publish to wait', isWaiting);
    await broker.close();

    await expect(waiting).resolves.toMatchObject({ transient: false, message: expect.stringContaining('was closed') });
  });

  async function holds(replica: PrivateRedis, id: string): Promise<boolean> {
    const redis = new Redis(replica.url, { readOnly: true });
    const { messages } = new StoreKeys(prefix).partition(PARTITION);
    return (await redis.hexists(messages, id).finally(() => redis.disconnect())) === 1;
  }

  /** As the producer does it. */
  async function repeat(id: string, call: CallId): Promise<PublishResult> {
    return until('the repeat to be served', async () => ifServed(publish(id, BOTH, call)));
  }
});

describe('a Redis that cannot confirm publishes', () => {
  let server: PrivateRedis;

  beforeAll(async () => {
    server = await startRedis();
    const admin = new Redis(server.url);
    await admin.acl('SETUSER', 'limited', 'on', '>secret', '~*', '&*', '+@all', '-wait');
    admin.disconnect();
  });

  afterAll(() => server.stop());

  const limited = (): { port: number; username: string; password: string } => ({
    port: server.port,
    username: 'limited',
    password: 'secret',
  });

  it('refuses a publish before it is stored if its user may not WAIT', async () => {
    const broker = newRedisBroker(limited());
    await broker.connect();
    const publishing = broker.messages.publish(PARTITION, { caller: 'test', sequence: 1 }, [message('a')], {
      replicas: BOTH,
    });

    await expect(publishing).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE', transient: false });
    await expect(publishing).rejects.toThrow(
      /refuses WAIT. Allow it \(ACL SETUSER <user> \+wait\).*Nothing was published/,
    );
    expect(await broker.messages.get(PARTITION, 'a')).toBeUndefined();
    await broker.close();
  });

  it('fails the boot if every publish is to be confirmed', async () => {
    const broker = newBroker(limited(), SILENT);
    const connecting = broker.connect();

    await expect(connecting).rejects.toThrow(ConfigurationError);
    await expect(connecting).rejects.toThrow(/\+wait/);
    await broker.close();
  });

  it('is warned of at boot if it has too few replicas', async () => {
    const warnings: string[] = [];
    const broker = newBroker({ port: server.port }, { ...SILENT, warn: (text) => warnings.push(text) });
    await broker.connect();

    expect(warnings).toContainEqual(expect.stringMatching(/has 0 connected replicas, .* asks for 2/));
    await broker.close();
  });
});

/** A broker whose every publish is to be confirmed. */
function newBroker(redis: ioredis.RedisOptions, log: Log): RedisBroker {
  const clock = new SystemClock();
  return new RedisBroker({ ioredis, redis, prefix: 'dq', connectTimeout: 5000, replicas: BOTH, clock, log });
}
