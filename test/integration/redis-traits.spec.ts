import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import { ACK, message } from '../support/broker/broker-bed.js';
import { type RedisBed, newRedisBroker, openRedisBed } from '../support/broker/redis-bed.js';
import { Received } from '../support/broker/received.js';
import { IS_REDIS_7, type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

/** Options with which a server does not have these commands, whatever its version says. */
function without(...commands: string[]): string[] {
  return commands.flatMap((command) => ['--rename-command', command, '']);
}

// Redis 6.2, which has neither command, does not start if one of them is renamed.
describe.each([
  ['SPUBLISH', IS_REDIS_7 ? without('SPUBLISH') : []],
  ['SPUBLISH and SSUBSCRIBE', IS_REDIS_7 ? without('SPUBLISH', 'SSUBSCRIBE', 'SUNSUBSCRIBE') : []],
])('on a server that has no %s', (_, args) => {
  let server: PrivateRedis;
  let bed: RedisBed;
  beforeAll(async () => {
    server = await startRedis(args);
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    bed = await openRedisBed(server.url);
  });
  afterEach(() => bed.close());

  it('a publish that signals is stored, resolves, and its signal comes', async () => {
    const signals = new Received<unknown>();
    const listening = new Received<void>();
    bed.broker.watchPartition(bed.partition, signals.listener, () => listening.listener());
    await listening.atLeast(1);

    const results = await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);

    expect(results).toMatchObject([{ status: 'created' }]);
    expect(await signals.atLeast(1)).toMatchObject([{ kind: 'due' }]);
  });

  it('a message is claimed and settled', async () => {
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);
    await bed.claimant.acquire();
    const { messages } = await bed.claimant.claim({ max: 1 });

    const settlements = messages.map(({ storedId, token }) => ({ storedId, token, outcome: ACK }));
    expect(await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), settlements)).toEqual(['settled']);
  });
});

describe('the boot', () => {
  let broker: RedisBroker;
  afterEach(() => broker.close());

  /** What connect() rejects with on a server without these commands. */
  async function refusal(commands: readonly string[]): Promise<string> {
    const server = await startRedis(without(...commands));
    try {
      broker = newRedisBroker(server.url);
      return await broker.connect().then(
        () => expect.fail('it connected'),
        (error: unknown) => (error as Error).message,
      );
    } finally {
      await server.stop();
    }
  }

  it('names every command that the server does not know, and no other', async () => {
    const text = await refusal(['ZMSCORE', 'HSTRLEN']);

    expect(text).toMatch(/refuses what is needed.*HSTRLEN: .*[Uu]nknown.*ZMSCORE: .*[Uu]nknown/);
    expect(text.match(/[Uu]nknown/g)).toHaveLength(2);
  });

  it('takes what a command meets that an unknown one left behind for no refusal', async () => {
    const text = await refusal(['DEL']);

    expect(text.match(/[Uu]nknown/g)).toHaveLength(2);
    expect(text).not.toContain('WRONGTYPE');
  });

  it('works although the memory is full', async () => {
    const server = await startRedis(['--maxmemory', '1']);
    try {
      broker = newRedisBroker(server.url);
      await expect(broker.connect()).resolves.toBeUndefined();
    } finally {
      await server.stop();
    }
  });
});
