import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ListedDeadLetter } from '../../lib/store/dead-letters/dead-letters.js';
import type { ClaimRequest } from '../../lib/store/deliveries/claim.js';
import { NO_TOKEN, type Receipt } from '../../lib/store/deliveries/receipt.js';
import type { Outcome } from '../../lib/store/deliveries/settle.js';
import { ownerOf } from '../../lib/store/fleet/owner.js';
import type { TopicOrder } from '../../lib/store/fleet/topic-config.js';
import type { CallId, Partition } from '../../lib/store/partition.js';
import type { NewMessage } from '../../lib/store/messages/publish.js';
import type { Occurrence } from '../../lib/store/schedules/occurrence.js';
import type { PartitionKeys } from '../../lib/store/keys.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { ACK, DEAD, FAILURE, LONG, LONG_AGO, OUTCOMES, message } from '../support/broker/broker-bed.js';
import { SERIES, due as storeDue, publish as publishOccurrence } from '../support/broker/stored-schedules.js';
import { type RedisBed, openRedisBed, serverTime } from '../support/broker/redis-bed.js';

const OWNER = ownerOf('epoch', 'm');
const CLAIM: ClaimRequest = {
  owner: OWNER,
  sequence: 1,
  delivered: 0,
  max: 100,
  lease: LONG,
  finished: { maxAge: LONG, maxCount: 2 },
};
const NEXT_CLAIM: ClaimRequest = { ...CLAIM, sequence: 2, delivered: 9 };
const TICK = { id: 'tick', state: 'r active 9 - 0', nextAt: 9 };
const KEYED = toStoredId('keyed', 'key');
const ENDED = toStoredId('ended', 'key');
const IN_FLIGHT = [KEYED, 'flying', 'replaced', 'cancelled'];
const KEYS = [
  'scheduled',
  'inflight',
  'messages',
  'deliveries',
  'dead',
  'errors',
  'keyed',
  'blocked',
  'queues',
  'places',
  'finished',
  'endings',
  'tags',
  'tagged',
  'owner',
  'meta',
  'schedules',
  'occurrences',
] as const satisfies (keyof PartitionKeys)[];

/** A name of letters, which sort by their bytes. */
const nameOf = (i: number): string => String.fromCharCode('a'.charCodeAt(0) + i);

describe('a key that holds another type than ours', () => {
  let bed: RedisBed;
  let tokens: ReadonlyMap<string, string>;
  /** The state of the schedule that is stored. */
  let seen: string;
  let letters: readonly ListedDeadLetter[] = [];
  /** Of the topic. */
  let order: TopicOrder | undefined;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
  });
  afterEach(() => bed.close());

  /** Everything in Redis, byte by byte. */
  async function snapshot(): Promise<Record<string, string | undefined>> {
    const keys = await bed.storedKeys();
    const dumps = await Promise.all(keys.map(async (key) => (await bed.redis.dumpBuffer(key))?.toString('hex')));
    return Object.fromEntries(keys.map((key, i) => [key, dumps[i]]));
  }

  /** Stores messages in every state, with failures and keys, and with marks of those in flight. */
  async function fill(): Promise<void> {
    const { broker, partition, nextCall, redis, keys } = bed;
    await broker.fleet.acquire(partition, OWNER, undefined);
    const ids = ['ended', 'gone', 'flying', 'replaced', 'cancelled', KEYED, 'dying', 'done', ENDED];
    await publish(...ids.map((id) => message(id, { tags: ['x', id] })));
    const result = await broker.deliveries.claim(partition, CLAIM);
    tokens = new Map(
      result.status === 'claimed' ? result.messages.map(({ storedId, token }) => [storedId, token]) : [],
    );
    await publish(message('replaced', { onDuplicate: 'replace' }));
    await broker.messages.cancel(partition, nextCall(), 'cancelled');
    await broker.messages.cancel(partition, nextCall(), 'gone');
    await redis.zadd(keys.inflight, LONG_AGO, 'ended');
    await redis.zadd(keys.inflight, LONG_AGO, 'gone');
    await settle('dying', DEAD);
    for (const id of ['done', ENDED]) await settle(id, ACK);
    await publish(message('due', { tags: ['x'] }), message('later', { due: { after: LONG } }));
    await publish(...['ended', 'flying', 'dying', 'due'].map((key) => message(toStoredId('next', key))));
    seen = await storeDue({ broker, partition, nextCall, owner: OWNER });
    ({ letters } = await broker.deadLetters.listDead(partition, { limit: 9, withFailures: true }));
  }

  /** The same, and another program has written over one key. */
  async function fillAround(name: (typeof KEYS)[number]): Promise<void> {
    const { redis, keys } = bed;
    const stored = await bed.storedKeys();
    if (stored.length > 0) await redis.unlink(...stored);
    await fill();
    await redis.del(keys[name]);
    await redis.rpush(keys[name], 'a list');
  }

  function call(): [Partition, CallId] {
    return [bed.partition, bed.nextCall()];
  }

  async function publish(...messages: NewMessage[]): Promise<void> {
    await bed.broker.messages.publish(...call(), messages, { order });
  }

  function receiptOf(storedId: string): Receipt {
    return { storedId, token: tokens.get(storedId) ?? NO_TOKEN };
  }

  async function settle(storedId: string, outcome: Outcome): Promise<unknown> {
    const { broker, partition, nextCall } = bed;
    return broker.deliveries.settle(partition, nextCall(), [{ ...receiptOf(storedId), outcome }]);
  }

  /** Publishes an occurrence of the schedule, if it is there. */
  async function occur(given: Partial<Occurrence> = {}): Promise<unknown> {
    const { broker, partition, nextCall } = bed;
    return publishOccurrence({ broker, partition, nextCall, owner: OWNER }, { expected: seen, order, ...given });
  }

  const OPERATIONS: Record<string, () => Promise<unknown>> = {
    publish: async () =>
      publish(message('new', { tags: ['y'] }), message(`k\0key`), message(toStoredId('last', 'due'))),
    'publish over each': async () =>
      publish(
        message('large', { envelope: `[1,"${'x'.repeat(20_000)}"]` }),
        ...['due', 'flying', 'dying', toStoredId('next', 'due'), 'done', ENDED].map((id) =>
          message(id, { onDuplicate: 'replace', tags: ['z'] }),
        ),
      ),
    'publish with a longest wait': async () =>
      publish(
        message('limited', {
          envelope: `[1,"${'x'.repeat(20_000)}"]`,
          onDuplicate: 'impossible',
          maxWait: LONG,
        }),
      ),
    'publish to be due earlier': async () => publish(message('later', { onDuplicate: 'earliest' })),
    'cancel what waits': async () => bed.broker.messages.cancel(...call(), 'due'),
    'cancel what is blocked': async () => bed.broker.messages.cancel(...call(), toStoredId('next', 'due')),
    'cancel what is tagged': async () => bed.broker.messages.cancelTagged(...call(), 'x', undefined),
    'cancel what flies': async () => bed.broker.messages.cancel(...call(), 'flying'),
    reschedule: async () => bed.broker.messages.reschedule(...call(), 'due', { after: 0 }),
    claim: async () => bed.broker.deliveries.claim(bed.partition, NEXT_CLAIM),
    'claim that ends deliveries': async () =>
      bed.broker.deliveries.claim(bed.partition, { ...NEXT_CLAIM, succeeded: IN_FLIGHT.map(receiptOf) }),
    extend: async () => bed.broker.deliveries.extend(bed.partition, LONG, [receiptOf('flying')]),
    ...Object.fromEntries(
      OUTCOMES.map((outcome) => [
        `settle: ${outcome.kind}`,
        async () =>
          bed.broker.deliveries.settle(
            ...call(),
            IN_FLIGHT.map((storedId) => ({ ...receiptOf(storedId), outcome })),
          ),
      ]),
    ),
    'set aside': async () => bed.broker.deliveries.setAside(bed.partition, receiptOf('flying'), FAILURE),
    'trim dead letters': async () => bed.broker.deadLetters.trimDead(bed.partition, { maxCount: 0 }),
    'trim finished messages': async () => bed.broker.deadLetters.trimFinished(bed.partition),
    'requeue all': async () => bed.broker.deadLetters.requeueDead(...call(), letters, 0),
    'remove all': async () => bed.broker.deadLetters.removeDead(...call(), letters),
    edit: async () => bed.broker.messages.edit(...call(), { storedId: 'due', expected: 'x', envelope: '[1,2]' }),
    clear: async () => bed.broker.messages.clear(...call(), 'scheduled'),
    'put a schedule': async () => bed.broker.schedules.putSchedule(...call(), { ...TICK, expected: seen }),
    'look for due schedules': async () => bed.broker.schedules.dueSchedules(bed.partition),
    'publish an occurrence': async () => occur(),
    'publish an occurrence if no earlier one waits': async () =>
      occur({ unlessBusy: { state: 'r active 9 - 1', series: SERIES } }),
    'remove a schedule': async () => bed.broker.schedules.removeSchedule(...call(), 'tick'),
    'get schedules': async () => bed.broker.schedules.getSchedules(bed.partition, ['tick']),
    locate: async () => bed.broker.messages.locate(bed.partition, 'keyed'),
    acquire: async () => bed.broker.fleet.acquire(bed.partition, OWNER, undefined),
    release: async () => bed.broker.fleet.release(bed.partition, OWNER),
  };

  const READS: Record<string, () => Promise<unknown>> = {
    peek: async () => bed.broker.messages.peek(bed.partition, { state: 'dead', limit: 9, maxBytes: 1000 }),
    'peek at what is tagged': async () =>
      bed.broker.messages.peek(bed.partition, { state: 'scheduled', tag: 'x', limit: 9, maxBytes: 1000 }),
    'peek at the ended': async () =>
      bed.broker.messages.peek(bed.partition, { state: 'finished', limit: 9, maxBytes: 1000 }),
    get: async () => bed.broker.messages.get(bed.partition, 'flying'),
    'get what is finished': async () => bed.broker.messages.get(bed.partition, 'done'),
    'list dead letters': async () => bed.broker.deadLetters.listDead(bed.partition, { limit: 9, withFailures: true }),
    stats: async () => bed.broker.messages.stats(bed.partition),
    explain: async () => bed.broker.messages.explain(bed.partition, 'due'),
  };

  it.each(Object.entries(READS))('is left as it is by those who only look, and an error: %s', async (_, read) => {
    const errors: string[] = [];
    for (const name of KEYS) {
      await fillAround(name);
      const before = await snapshot();
      await read().catch((error: Error) => errors.push(error.message));
      expect(await snapshot()).toEqual(before);
    }
    expect(errors.every((text) => text.includes('value that it did not write'))).toBe(errors.length > 0);
  });

  const CASES = Object.entries(OPERATIONS).flatMap(([what, operation]) => [
    { what, operation, topicOrder: undefined, topic: 'a topic' },
    { what, operation, topicOrder: 'block' as const, topic: 'an ordered topic' },
  ]);

  for (const { what, operation, topicOrder, topic } of CASES) {
    it(`does not keep '${what}' in ${topic} from being done, which has written nothing before that key is set aside`, async () => {
      const { redis, broker, keys } = bed;
      order = topicOrder;
      const client = broker.client as typeof redis;
      const send = client.sendCommand.bind(client);
      for (const name of KEYS) {
        await fillAround(name);
        // The data before and after each failing call.
        const failed: (readonly [unknown, unknown])[] = [];
        client.sendCommand = async (command, ...rest) => {
          if (command.name !== 'evalsha') return send(command, ...rest);
          const before = await snapshot();
          return (send(command, ...rest) as Promise<unknown>).catch(async (error: Error) => {
            if (!error.message.startsWith('NOSCRIPT')) failed.push([before, await snapshot()]);
            throw error;
          });
        };

        await operation();

        client.sendCommand = send;
        expect({ name, failures: failed.length <= 1 }).toEqual({ name, failures: true });
        for (const [before, after] of failed) expect({ name, stored: after }).toEqual({ name, stored: before });
        const isAside = (await redis.exists(`${keys[name]}:set-aside`)) === 1;
        const isOurs = (await redis.type(keys[name])) !== 'list';
        expect({ name, isAside, isOurs }).toEqual({ name, isAside: isAside || failed.length > 0, isOurs: isAside });
      }
    });
  }

  it('is an error where all of the topic hangs on it', async () => {
    await bed.redis.set(`{${bed.prefix}:orders}:config`, 'not ours');

    await expect(bed.broker.fleet.configure('orders', 4)).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE' });
    expect(await bed.redis.get(`{${bed.prefix}:orders}:config`)).toBe('not ours');
  });
});

describe('what is stored beyond all bounds', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
    await bed.claimant.acquire();
  });
  afterEach(() => bed.close());

  it('lists each message once, page by page, whatever its score', async () => {
    const { broker, redis, keys, partition } = bed;
    const scores = ['-inf', '-inf', '-1e300', '-5', '0', '0.5', '1.25', '1e15', '1e300', 'inf', 'inf'];
    for (const [i, score] of scores.entries()) {
      await redis.hset(keys.messages, nameOf(i), '[1,2]');
      await redis.zadd(keys.dead, score, nameOf(i));
    }
    const seen: string[] = [];
    let after: { at: number; storedId: string } | undefined;
    do {
      const page = await broker.messages.peek(partition, { state: 'dead', limit: 1, maxBytes: 1000, after });
      seen.push(...page.messages.map(({ storedId }) => storedId));
      after = page.next;
    } while (after && seen.length < 50);
    expect(seen).toEqual(scores.map((_, i) => nameOf(i)));

    const letters = await broker.deadLetters.listDead(partition, { limit: 50, withFailures: false });
    expect(letters.letters.map(({ storedId }) => storedId)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
    expect(await broker.deadLetters.removeDead(partition, bed.nextCall(), letters.letters)).toEqual(
      letters.letters.map(() => true),
    );
  });

  it.each(['x', '', '-5', '1.5', '1e300', '9'.repeat(40), 'nan', 'inf'])(
    'the counter of deliveries, %j: it begins anew, and claims go on',
    async (delivered) => {
      const { broker, redis, keys, partition, claimant } = bed;
      await broker.messages.publish(partition, bed.nextCall(), [message('a')]);
      await redis.hset(keys.meta, 'delivered', delivered);

      expect(await claimant.claim()).toMatchObject({ messages: [{ storedId: 'a', token: claimant.token(1) }] });
      expect((await broker.messages.stats(partition)).counters.delivered).toBe(1);
    },
  );

  it('a lease: it is over', async () => {
    const { redis, keys, claimant } = bed;
    await redis.hset(keys.messages, 'a', '[1,2]');
    await redis.zadd(keys.inflight, 'inf', 'a');

    const first = await claimant.claim();
    expect(first).toMatchObject({ messages: [], repaired: 1 });
    expect(first.nextAt).toBeLessThanOrEqual(await serverTime(redis));
    expect(await claimant.claim()).toMatchObject({ messages: [{ storedId: 'a', attempt: 1 }] });
  });

  it('an id that is no text: it is a dead letter under one that is, wherever it was', async () => {
    const { broker, redis, keys, partition } = bed;
    const bytes = Buffer.from([0x61, 0xff, 0x00, 0xc3]);
    await redis.hset(keys.messages, bytes as unknown as string, '[1,2]');
    await redis.hset(keys.messages, 'a\\xFF\0\\xC3', '[1,"is there already"]');
    await redis.zadd(keys.scheduled, LONG_AGO, bytes);
    await redis.zadd(keys.scheduled, LONG_AGO + 1, 'a\\xFF\0\\xC3');
    await redis.zadd(keys.keyed, 0, bytes);
    const [claimed] = (await bed.claimant.claim({ max: 1 })).messages;
    const receipt = { storedId: claimed?.storedId ?? '', token: claimed?.token ?? NO_TOKEN };
    expect(await broker.deliveries.settle(partition, bed.nextCall(), [{ ...receipt, outcome: DEAD }])).toEqual([
      'stale',
    ]);

    const storedId = await broker.deliveries.setAside(partition, receipt, FAILURE);

    expect(storedId).toBe('a\\xFF\0\\xC3~');
    expect(await broker.messages.get(partition, storedId ?? '')).toMatchObject({
      state: 'dead',
      envelope: '[1,2]',
      attempts: 0,
      failure: FAILURE,
    });
    expect(await broker.messages.get(partition, 'a\\xFF\0\\xC3')).toMatchObject({ state: 'scheduled' });
    expect(await redis.zrange(keys.keyed, '0', '-1')).toEqual([storedId]);
    expect(await broker.deliveries.setAside(partition, receipt, FAILURE)).toBeUndefined();
    expect((await redis.hkeys(keys.messages)).toSorted()).toEqual(['a\\xFF\0\\xC3', storedId]);
  });
});
