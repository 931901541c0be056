import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DelayedHandler,
  DelayQueueAdmin,
  DelayQueueEvents,
  DelayQueueModule,
  DelayQueueProducer,
} from 'nestjs-delay-queue';
import { filter, firstValueFrom } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLES, aclRule } from '../../lib/engines/redis/scripts/rights.js';
import { decodeEnvelope, encodeEnvelope } from '../../lib/messages/envelope.js';
import { partitionOf } from '../../lib/messages/partitioner.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';
import { codeBlocks, inBackticks, readDocument, section, table } from '../support/docs/markdown.js';
import { scriptCommands } from '../support/docs/library.js';

const text = readDocument('docs/internals/redis-keys.md');
const rights = section(text, 'Rights of a Redis user');
const [whole = [], categories = [], ...ofRoles] = codeBlocks(rights).map(({ code }) =>
  code.replace('ACL SETUSER ', '').split(' '),
);
const rules = [whole, categories];

describe('docs/internals/redis-keys.md', () => {
  it('shows an envelope as it is written and read, byte by byte', () => {
    const part = section(text, 'Envelope');
    const [{ code: example } = { code: '' }] = codeBlocks(part);
    const backoff = { delay: 1000, factor: 2, maxDelay: 300_000, jitter: 0.2 };
    const fields = { headers: { trace: '7f' }, attempts: 3, backoff, timeout: 30_000, expireAfter: 3_600_000 };
    const message = { payload: { orderId: '42' }, publishedAt: 1_767_268_800_000, ...fields };
    expect(encodeEnvelope(message)).toBe(example);
    expect(decodeEnvelope(example)).toEqual(message);

    const shown = [...part.matchAll(/^\| (\d+)(?:–(\d+))? +\| `([^`]+)` /gm)];
    expect(shown.length).toBeGreaterThan(5);
    for (const [, first, last = first, what = ''] of shown) {
      const [begin = '', end = begin] = what.split('…');
      const bytes = example.slice(Number(first), Number(last) + 1);
      expect([bytes.slice(0, begin.length), bytes.slice(-end.length)]).toEqual([begin, end]);
    }
    const payload = '{"orderId":"42"}';
    const [, count] = /payload\s+and (\d+) bytes/.exec(part) ?? [];
    const { length } = encodeEnvelope({ payload: JSON.parse(payload), publishedAt: 1_767_268_800_000 });
    expect(length - payload.length).toBe(Number(count));
  });

  it('places keys in the partitions that the partitioner does', () => {
    const rows = table(section(text, 'Partitioner'), 'key', 'CRC-32');
    expect(rows.size).toBeGreaterThan(2);
    for (const [key, [, hash = '', of8, of1024]] of rows) {
      expect([key, String(partitionOf(key, 8)), String(partitionOf(key, 1024))]).toEqual([key, of8, of1024]);
      expect([key, partitionOf(key, 2 ** 32)]).toEqual([key, Number(`0x${inBackticks(hash)[0]}`)]);
    }
  });

  it('shows stored ids as they are made', () => {
    const rows = [
      ...section(text, 'Stored id').matchAll(/^\| `([\w.-]+)` +\| (?:`([\w-]+)`|\(none\)) +\| `([^`]+)`/gm),
    ];
    expect(rows.length).toBeGreaterThan(5);
    for (const [, id = '', key = id, stored = ''] of rows) {
      expect(toStoredId(id, key)).toBe(stored.replace('\\0', '\0'));
    }
  });

  it('names the letters of UUIDs in short', () => {
    const [, letters = ''] = /with the letters `([^`]+)`/.exec(section(text, 'Stored id')) ?? [];
    const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (const id of Array.from({ length: 100 }, () => randomUUID())) {
      const encoded = Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
      const short = Array.from(encoded, (letter) => letters[base64url.indexOf(letter)]).join('');
      expect(toStoredId(id)).toBe(`.${short}`);
    }
  });

  it('has the least rights of each role as the command line prints them', () => {
    const printed = ROLES.map((role) => aclRule(role, { user: role, prefix: 'dq' }));
    expect(ofRoles.map((rule) => `ACL SETUSER ${rule.join(' ')}`)).toEqual(printed);
  });

  it('names every command that a script uses', () => {
    const used = scriptCommands();
    expect(used).toContain('ZREVRANGE');
    for (const command of used) {
      expect(rights).toMatch(new RegExp(`\\b${command}\\b`));
      expect(rules[0]).toContain(`+${command.toLowerCase()}`);
    }
  });
});

/** What the library tries and can do without; Redis 6.2 names the command alone. */
const OPTIONAL = new Set(['config', 'config|get', 'client', 'client|setinfo']);

@Injectable()
class Handler {
  @DelayedHandler('rights', { attempts: 1 })
  handle(payload: string): void {
    if (payload === 'fail') throw new Error('as it should');
  }
}

describe('a Redis user with the rights of docs/internals/redis-keys.md', () => {
  let redis: PrivateRedis;
  let admin: Redis;

  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.url);
  });

  afterAll(async () => {
    admin.disconnect();
    await redis.stop();
  });

  it.each(rules.map((rule, i) => ({ rule, user: `user-${i}`, how: i === 0 ? 'commands' : 'categories' })))(
    'may do all that the library does: by naming $how',
    async ({ rule, user }) => {
      await admin.flushall();
      await admin.call('ACL', 'SETUSER', user, ...(await known(rule)));
      await admin.call('ACL', 'LOG', 'RESET');
      await useEverything(`redis://${user}:secret@127.0.0.1:${redis.port}`);
      expect((await refusals()).filter((command) => !OPTIONAL.has(command))).toEqual([]);
    },
  );

  it('has no right beside', async () => {
    const [rule = []] = rules;
    await admin.call('ACL', 'SETUSER', 'curious', ...(await known(rule)));
    const client = new Redis(redis.url, { username: 'curious', password: 'secret' });
    await expect(client.get('other')).rejects.toThrow('NOPERM');
    await expect(client.flushall()).rejects.toThrow('NOPERM');
    client.disconnect();
  });

  /** The rules without the user's name, and without what the server is too old for. */
  async function known([, ...rule]: readonly string[]): Promise<string[]> {
    const [, major] = /^redis_version:(\d+)/m.exec(await admin.info('server')) ?? [];
    return Number(major) >= 7 ? rule : rule.filter((part) => !/^\+s\w*(publish|subscribe)$/.test(part));
  }

  async function refusals(): Promise<string[]> {
    const log = (await admin.call('ACL', 'LOG')) as (string | number)[][];
    return log.map((entry) => String(entry[entry.indexOf('object') + 1]));
  }
});

async function useEverything(url: string): Promise<void> {
  @Module({
    imports: [
      DelayQueueModule.forRoot({
        redis: url,
        topics: { rights: { deadLetter: { maxCount: 10 } } },
        fleetEvents: true,
      }),
    ],
    providers: [Handler],
  })
  class App {}

  const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  const producer = app.get(DelayQueueProducer);
  const events = app.get(DelayQueueEvents);
  const acked = firstValueFrom(events.acked);
  const dead = firstValueFrom(events.dead);
  const told = firstValueFrom(events.fleet.pipe(filter(({ kind }) => kind === 'dead')));
  await producer.publish('rights', 'succeed');
  await producer.publish('rights', 'fail', { id: 'a' });
  await Promise.all([acked, dead, told]);
  await producer.publish('rights', 'wait', { id: 'b', key: 'k', delay: '1h' });
  await producer.publish('rights', 'wait', { id: 'b', key: 'k', delay: '2h', onDuplicate: 'replace' });
  expect(await producer.reschedule('rights', 'b', { delay: '3h' })).toBe('moved');
  expect(await producer.cancel('rights', 'b')).toBe('cancelled');
  expect(await app.get(DelayQueueAdmin).get('rights', 'a')).toMatchObject({ state: 'dead' });
  expect(await app.get(DelayQueueAdmin).stats('rights')).toMatchObject({ dead: 1 });
  await operate(app.get(DelayQueueAdmin), producer);
  await app.close();
}

async function operate(admin: DelayQueueAdmin, producer: DelayQueueProducer): Promise<void> {
  await producer.publish('rights', 'wait', { id: 'c', delay: '1h' });
  expect(await admin.topics()).toEqual(['rights']);
  expect((await admin.peek('rights', 'scheduled')).messages).toMatchObject([{ id: 'c' }]);
  expect(await admin.edit('rights', 'c', 'x'.repeat(20_000))).toBe('edited');
  await admin.pause('rights');
  await admin.hold('rights', '1h');
  expect(await admin.runNow('rights', 'c')).toBe('moved');
  expect(await admin.drain('rights')).toEqual({ matched: 1, changed: 1, aborted: false });
  expect(await admin.purge('rights')).toEqual({ matched: 1, changed: 1, aborted: false });
  await admin.resume('rights');
}
