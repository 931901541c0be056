import { Injectable } from '@nestjs/common';
import {
  type BackgroundError,
  type DeadLetter,
  DelayedHandler,
  type DelayedMessage,
  DelayQueueAdmin,
  DelayQueueEvents,
  OnDeadLetter,
} from 'nestjs-delay-queue';
import type { MessageDetails } from 'nestjs-delay-queue/admin';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

const GOOD = 100;
const ENVELOPE = '[1,"foreign"]';
const AT = 1000;
const HUGE = '9'.repeat(40);

/** Handles jobs; every third message fails once, so that there are retries among the outcomes. */
@Injectable()
class Jobs {
  readonly handled: string[] = [];
  readonly failedOnce = new Set<string>();
  readonly letters: DeadLetter[] = [];

  @DelayedHandler('jobs', { attempts: 3, backoff: { type: 'fixed', delay: 5 } })
  handle(payload: number | string, { id }: DelayedMessage): void {
    if (typeof payload === 'number' && payload % 3 === 0 && !this.failedOnce.has(id)) {
      this.failedOnce.add(id);
      throw new Error('once');
    }
    this.handled.push(id);
  }

  @OnDeadLetter('jobs')
  onDeadLetter(letter: DeadLetter): void {
    this.letters.push(letter);
  }
}

/** Envelopes that no version of this library writes, by their stored ids. */
const UNREADABLE: Readonly<Record<string, string | Buffer>> = {
  nothing: '',
  'no JSON': '{',
  'cut off': '[1767268800000,{"orderId":',
  binary: Buffer.from([0x5b, 0xff, 0xfe, 0x00, 0x80, 0x5d]),
  'a text': '"hello"',
  'a number': '5',
  null: 'null',
  'an object': '{"payload":1}',
  'no element': '[]',
  'no payload': '[1]',
  'no time': '["1767268800000",1]',
  'a time before all': '[-1,1]',
  'a time after all': '[1e300,1]',
  'options that are a number': '[1,1,5]',
  'options that are a list': '[1,1,[]]',
  'headers that are a list': '[1,1,{"h":["a"]}]',
  'a header that is a number': '[1,1,{"h":{"a":1}}]',
  'no attempts': '[1,1,{"a":0}]',
  'attempts that are a text': '[1,1,{"a":"3"}]',
  'attempts without end': '[1,1,{"a":1e999}]',
  'half a backoff': '[1,1,{"b":[1000,2]}]',
  'a backoff that is a number': '[1,1,{"b":5}]',
  'a backoff of texts': '[1,1,{"b":["1s",1,"1s",0]}]',
  'a backoff without end': '[1,1,{"b":[1e300,1,1e300,0]}]',
  'a timeout in the past': '[1,1,{"t":-1}]',
  'a timeout that is null': '[1,1,{"t":null}]',
  'an expiry that is an object': '[1,1,{"e":{}}]',
};

/** Stored ids that no caller can name; others are not valid text: latin1, half a character, half a pair. */
const NAMELESS = ['', 'a\0b\0c', '\0key', 'x'.repeat(300)];
const NO_TEXT: Readonly<Record<string, Buffer>> = {
  'Gr\\xFC\\xDFe': Buffer.from('Grüße', 'latin1'),
  'half \\xE2\\x82': Buffer.from([...Buffer.from('half '), 0xe2, 0x82]),
  'pair \\xED\\xA0\\xBD\0key': Buffer.from([...Buffer.from('pair '), 0xed, 0xa0, 0xbd, 0, ...Buffer.from('key')]),
};

/** Good messages with damage outside the envelope: they are handled all the same. */
const HANDLED = [
  'line\nbreak\r\n',
  'ünï \u{1F600} \uFFFD',
  'before all time',
  'a part of a millisecond',
  'garbage for a record',
  'a record without end',
  'a mark without end',
  'a failure that is no JSON',
  'a lease without end',
  'in flight, never delivered',
  'waits and in flight',
];

async function publishGood(from: number): Promise<string[]> {
  const { producer } = await bed.start({ options: { consumer: false, defaults: { partitions: 1 } } });
  const messages = Array.from({ length: GOOD }, (_, i) => ({ payload: i, options: { id: `good ${from + i}` } }));
  return (await producer.publishMany('jobs', messages)).map(({ id }) => id);
}

async function consume() {
  const app = await bed.start({
    providers: [Jobs],
    options: { defaults: { partitions: 1 }, consumer: { lease: '1s', maxIdleWait: '200ms' } },
  });
  const errors: BackgroundError[] = [];
  app.get(DelayQueueEvents).errors.subscribe((error) => errors.push(error));
  return { app, jobs: app.get(Jobs), admin: app.get(DelayQueueAdmin), errors };
}

async function listDead(admin: DelayQueueAdmin): Promise<MessageDetails[]> {
  const all: MessageDetails[] = [];
  let cursor: string | undefined;
  do {
    const page = await admin.peek('jobs', 'dead', { limit: 7, cursor });
    all.push(...page.messages);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return all;
}

/** The partition's key of this name. */
function key(name: string): string {
  return bed.partition('jobs').key(name);
}

async function writeForeign(): Promise<void> {
  const { redis } = bed;
  const due = async (id: string | Buffer, envelope: string | Buffer, score: number | string = AT): Promise<void> => {
    await redis.hset(key('messages'), id as string, envelope);
    await redis.zadd(key('scheduled'), score, id);
  };
  for (const [id, envelope] of Object.entries(UNREADABLE)) await due(id, envelope);
  for (const id of NAMELESS) await due(id, ENVELOPE);
  for (const id of Object.values(NO_TEXT)) await due(id, ENVELOPE);
  await redis.zadd(key('keyed'), 0, NO_TEXT['pair \\xED\\xA0\\xBD\0key'] as Buffer);

  for (const id of HANDLED) await due(id, ENVELOPE);
  await redis.zadd(key('scheduled'), '-inf', 'before all time', 1.5, 'a part of a millisecond');
  await redis.hset(key('deliveries'), 'garbage for a record', '\0\xff not four numbers');
  await redis.hset(key('deliveries'), 'a record without end', `${HUGE} ${HUGE} ${HUGE} ${HUGE}`);
  await redis.hset(key('deliveries'), 'a mark without end', `r${HUGE} 0 1 1 1`);
  await redis.hset(key('errors'), 'a failure that is no JSON', '","history":[{broken},{"at":"x"}]');
  await redis.zrem(key('scheduled'), 'a lease without end', 'in flight, never delivered');
  await redis.zadd(key('inflight'), '+inf', 'a lease without end', AT, 'in flight, never delivered');
  await redis.zadd(key('inflight'), AT, 'waits and in flight');

  // Spent attempts, and dead letters.
  await due('more attempts than there are', ENVELOPE);
  await redis.hset(key('deliveries'), 'more attempts than there are', '0 5000 5000 1');
  const dead = { 'dead for ever': '-inf', 'dead at a part of a millisecond': '1.5', 'dead of no failure': '7' };
  for (const [id, score] of Object.entries(dead)) {
    await redis.hset(key('messages'), id, ENVELOPE);
    await redis.zadd(key('dead'), score, id);
  }
  const noText = Buffer.from('dead Grüße', 'latin1');
  await redis.hset(key('messages'), noText as unknown as string, ENVELOPE);
  await redis.zadd(key('dead'), 7, noText);
  await redis.hset(key('errors'), 'dead for ever', 'null', 'dead at a part of a millisecond', '{"reason":5}');
  await redis.hset(key('errors'), 'dead of no failure', '[[[{');

  // Entries without a message in each set, and entries that wait forever.
  await redis.zadd(key('scheduled'), AT, 'nobody 1', '-inf', 'nobody 2');
  await redis.zadd(key('inflight'), AT, 'nobody 3', '+inf', 'nobody 4');
  await redis.zadd(key('dead'), AT, 'nobody 5');
  await redis.hset(key('messages'), 'in no set', ENVELOPE);
  await due('due when all is over', ENVELOPE, '+inf');
  await redis.hset(key('deliveries'), 'of nobody', HUGE);
  // Broken counters.
  await redis.hset(key('meta'), {
    acked: 'x',
    retried: '',
    died: '9223372036854775807',
    repaired: '1.5',
    largest: 'y',
  });
  await redis.hset(key('meta'), { delivered: 'z', stale: '-', cancelled: '{}', expired: '[]', unknown: '5' });
}

/** Why it died; unknown for those that were already dead. */
function expectedReason(id: string): string | undefined {
  if (id.startsWith('dead ')) return undefined;
  return id === 'more attempts than there are' ? 'crashed' : 'undecodable';
}

function storedIdOf({ id, key: messageKey }: { id: string; key: string }): string {
  return messageKey === id ? id : `${id}\0${messageKey}`;
}

describe('records that other programs have left in a partition', () => {
  const rejections: unknown[] = [];
  const note = (reason: unknown): unknown => rejections.push(reason);
  beforeEach(() => {
    rejections.length = 0;
    process.on('unhandledRejection', note);
  });
  afterEach(() => {
    process.off('unhandledRejection', note);
  });

  /** The dead letters after everything is handled, as callers name them. */
  const DEAD = [
    ...Object.keys(UNREADABLE),
    ...NAMELESS,
    ...Object.keys(NO_TEXT),
    'more attempts than there are',
    'dead for ever',
    'dead at a part of a millisecond',
    'dead of no failure',
    'dead Gr\\xFC\\xDFe',
  ];

  it('do not stop its other messages, and become dead letters', async () => {
    const good = await publishGood(0);
    await writeForeign();
    const { app, jobs, admin, errors } = await consume();

    await eventually(() => expect(jobs.handled.toSorted()).toEqual([...good, ...HANDLED].toSorted()), 10_000);
    await eventually(async () => {
      expect((await listDead(admin)).map(storedIdOf).toSorted()).toEqual(DEAD.toSorted());
    });
    expect(DEAD.length).toBeGreaterThanOrEqual(18);

    // Each has its raw record and is found by its id if it has one.
    const listed = await listDead(admin);
    for (const { id, key: messageKey, failure, raw, payload, at } of listed) {
      const given = UNREADABLE[id];
      expect(raw).toBe(given?.toString() ?? ENVELOPE);
      expect({ id, payload }).toEqual({ id, payload: given === undefined ? 'foreign' : undefined });
      expect(failure?.reason).toBe(expectedReason(id));
      expect(at.getTime()).not.toBeNaN();
      const isNamed = !NAMELESS.includes(storedIdOf({ id, key: messageKey }));
      const found = isNamed && (await admin.get('jobs', { id, key: messageKey }));
      expect(found).toEqual(isNamed && { ...found, id, state: 'dead', raw });
    }
    // Every kind of call still works in the partition.
    const more = await publishGood(GOOD);
    await eventually(() => expect(jobs.handled).toEqual(expect.arrayContaining(more)), 10_000);
    expect(new Set(jobs.handled).size).toBe(jobs.handled.length);
    await app.producer.publish('jobs', 1, { id: 'later', delay: '1h' });
    expect(await app.producer.reschedule('jobs', 'later', { delay: '2h' })).toBe('moved');
    expect(await app.producer.cancel('jobs', 'later')).toBe('cancelled');
    expect((await admin.peek('jobs', 'scheduled')).messages.map(({ id }) => id)).toEqual(['due when all is over']);
    expect((await admin.peek('jobs', 'in-flight')).messages).toEqual([]);
    expect(await admin.runNow('jobs', 'due when all is over')).toBe('moved');
    await eventually(() => expect(jobs.handled).toContain('due when all is over'));
    expect(await admin.stats('jobs')).toMatchObject({ scheduled: 0, inFlight: 0 });

    // The hook was called with each one that died here, and only actionable errors were reported.
    const diedHere = DEAD.filter((id) => !id.startsWith('dead '));
    await eventually(() => expect(jobs.letters.map(storedIdOf).toSorted()).toEqual(diedHere.toSorted()));
    expect(errors).toEqual([]);
    expect(app.logs.errors.every((line) => !line.includes('\n'))).toBe(true);

    // All dead letters are grouped, requeued and removed.
    const { total, groups, ungrouped } = await admin.deadLetterGroups('jobs');
    expect({ total, ungrouped }).toEqual({ total: DEAD.length + 1, ungrouped: 5 });
    expect(groups.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['undecodable', 'crashed']));
    expect(await admin.requeue('jobs', 'dead at a part of a millisecond')).toMatchObject({ matched: 1, changed: 1 });
    expect(await admin.requeue('jobs', 'half a backoff', { payload: 'mended' })).toMatchObject({ changed: 1 });
    expect(await admin.requeue('jobs', 'Gr\\xFC\\xDFe')).toMatchObject({ changed: 1 });
    const mended = ['dead at a part of a millisecond', 'half a backoff', 'Gr\\xFC\\xDFe'];
    await eventually(() => expect(jobs.handled).toEqual(expect.arrayContaining(mended)));
    const byReason = await admin.requeue('jobs', { reason: 'undecodable' });
    expect(byReason).toMatchObject({ matched: diedHere.length - 3, changed: diedHere.length - 3 });
    // Two more have valid ids by now, and had no other fault.
    await eventually(async () => expect(await listDead(admin)).toHaveLength(DEAD.length - 5));
    expect(await admin.remove('jobs', 'dead for ever')).toMatchObject({ changed: 1 });
    const all = await admin.remove('jobs', { all: true });
    expect(all.changed).toBe(all.matched);
    expect(await admin.stats('jobs')).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
    expect(rejections).toEqual([]);
  });

  it('under the names of its keys are set aside, whichever key it is', async () => {
    const { app, jobs, admin } = await consume();
    for (const [n, name] of ['errors', 'dead', 'keyed', 'meta', 'deliveries', 'inflight', 'owner'].entries()) {
      await bed.redis.del(key(name));
      if (name === 'owner') await bed.redis.hset(key(name), 'not', 'ours');
      else await bed.redis.set(key(name), 'not ours');

      const ids = Array.from({ length: 10 }, (_, i) => `${n}-${i}`);
      await app.producer.publishMany(
        'jobs',
        ids.map((id, i) => ({ payload: i, options: { id, key: i % 2 ? 'key' : id } })),
      );

      await eventually(() => expect(jobs.handled).toEqual(expect.arrayContaining(ids)), 10_000);
      expect(new Set(jobs.handled).size).toBe(jobs.handled.length);
      expect(await bed.redis.exists(`${key(name)}:set-aside`)).toBe(1);
    }
    expect(app.logs.errors.join('\n')).toContain('Another program has written over keys of this module');
    expect(await listDead(admin)).toEqual([]);
    expect(rejections).toEqual([]);
  });
});
