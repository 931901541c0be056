import * as ioredis from 'ioredis';
import type { Command, RedisOptions } from 'ioredis';
import { describe, expect, it } from 'vitest';
import type { IoRedis, RedisClient } from '../../../../../lib/engines/redis/connection/redis-clients.js';
import { scriptClientOf } from '../../../../../lib/engines/redis/scripts/script-client.js';
import type { Argument } from '../../../../../lib/store/lua/lua-script.js';

const { Cluster, Redis } = ioredis;
const KEY = '{dq:orders:1}:scheduled';

/** Returns the command by which a client sends a call, which is answered at once. */
async function sent(client: RedisClient, args: Argument[], copy: IoRedis = ioredis): Promise<Command> {
  const commands: Command[] = [];
  (client as ioredis.Redis).sendCommand = (command) => {
    commands.push(command);
    command.resolve([Buffer.from('1'), 2]);
    return command.promise;
  };
  expect(await scriptClientOf(copy, client).send('evalsha', args)).toEqual(['1', 2]);
  return commands[0] as Command;
}

function redis(options: Pick<RedisOptions, 'enableAutoPipelining' | 'showFriendlyErrorStack'> = {}): ioredis.Redis {
  return new Redis({ ...options, lazyConnect: true });
}

function written(command: Command): string {
  return Buffer.from(command.toWritable({})).toString('latin1');
}

describe('a call of a script', () => {
  const CASES: Readonly<Record<string, readonly Argument[]>> = {
    'no arguments': [],
    ASCII: ['a', 'order-17', 'GET\r\n$1\r\n'],
    'empty text': ['', ''],
    numbers: [0, -1, 1.5, 1_790_000_000_000],
    'long text': ['x'.repeat(255), 'x'.repeat(256), 'x'.repeat(70_000)],
    'characters of several bytes': ['ä', '€', '😀', 'x'],
    'text that no UTF-8 can have': ['\uD800', 'a\uDC00b'],
  };

  it.each(Object.entries(CASES))('is written as ioredis would write it, with %s', async (_, more) => {
    const args = ['sha', 1, KEY, ...more];
    const own = new ioredis.Command('evalsha', [...args], { replyEncoding: 'utf8' });

    const command = await sent(redis(), [...args]);

    expect(written(command)).toBe(written(own));
    expect(command).toMatchObject({ name: 'evalsha', args: own.args });
  });

  it('goes to the slot of its keys in a cluster', async () => {
    const cluster = new Cluster([], { lazyConnect: true });
    const command = await sent(cluster, ['sha', 2, KEY, '{dq:orders:1}:messages', 'x']);
    expect(command.getKeys()).toEqual([KEY, '{dq:orders:1}:messages']);
    expect(command.getSlot()).toBe(new ioredis.Command('get', [KEY]).getSlot());
  });

  it('is made by ioredis if the client is of another copy', async () => {
    const copy = { ...ioredis, Redis: class extends Redis {}, Cluster: class extends Cluster {} } as unknown as IoRedis;
    expect(Object.getPrototypeOf(await sent(redis(), ['sha', 1, KEY], copy))).toBe(ioredis.Command.prototype);
    expect(Object.getPrototypeOf(await sent(redis(), ['sha', 1, KEY]))).not.toBe(ioredis.Command.prototype);
  });

  it('is made by ioredis if it is to keep the stack of the call', async () => {
    const command = await sent(redis({ showFriendlyErrorStack: true }), ['sha', 1, KEY]);
    expect(Object.getPrototypeOf(command)).toBe(ioredis.Command.prototype);
  });

  it('goes into the pipeline that a client makes by itself', async () => {
    const client = redis({ enableAutoPipelining: true });
    const call = scriptClientOf(ioredis, client).send('evalsha', ['sha', 1, KEY]);
    expect(client.autoPipelineQueueSize).toBe(1);
    client.disconnect();
    await expect(call).rejects.toThrow('Connection is closed');
  });
});
