import { Injectable } from '@nestjs/common';
import { type DelayedMessage, DelayedHandler, type TopicOptions } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { eventually } from '../support/waiting.js';

const HOUR = 3_600_000;

@Injectable()
class Payments extends Recorder {
  @DelayedHandler('payments')
  async collect(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}

const bed = useBed();

async function start(defaults: TopicOptions = {}) {
  const app = await bed.start({
    providers: [Payments],
    options: {
      defaults: { partitions: 1, backoff: { type: 'fixed', delay: 5 }, ...defaults },
      consumer: { shutdownTimeout: '1s' },
    },
  });
  const { producer, events, logs } = app;
  return { producer, events, logs, payments: app.get(Payments), partition: bed.partition('payments') };
}

/** Keys that hold data of a message. */
async function messageKeys(): Promise<string[]> {
  return (await bed.keys()).filter((key) => /:(dead|messages|errors|deliveries)$/.test(key));
}

describe('a dead letter', () => {
  it('keeps payload, headers, the number of attempts, and the last error with its stack', async () => {
    const { producer, events, payments, partition } = await start({ attempts: 3 });
    payments.respond = (_payload, { attempt }) => {
      throw Object.assign(new RangeError(`failed ${attempt} times`), { code: 'E_BALANCE' });
    };
    const before = await bed.time();
    await producer.publish('payments', { amount: 5, note: 'ü' }, { id: 'a', headers: { trace: 'abc' } });
    const event = await events.dead.first();
    const after = await bed.time();

    const expected = { reason: 'failed', name: 'RangeError', message: 'failed 3 times', code: 'E_BALANCE' };
    expect(event).toMatchObject({ topic: 'payments', partition: 0, id: 'a', key: 'a', attempt: 3, failure: expected });
    expect(event.failure.stack).toContain('dead-letters.spec.ts');

    expect(await partition.dead()).toEqual(['a']);
    expect(await partition.diedAt('a')).toBeGreaterThanOrEqual(Math.floor(before));
    expect(await partition.diedAt('a')).toBeLessThanOrEqual(after);
    expect(await partition.payload('a')).toEqual({ amount: 5, note: 'ü' });
    expect(await partition.headers('a')).toEqual({ trace: 'abc' });
    expect(await partition.failure('a')).toEqual(event.failure);
    expect(await partition.spent('a')).toEqual({ deliveries: 3, attempts: 3 });
    expect(await partition.scheduled()).toEqual([]);
    expect(await partition.inFlight()).toEqual([]);
  });

  it('is logged with topic, id, handler and reason', async () => {
    const { producer, events, payments, logs } = await start({ attempts: 1 });
    payments.respond = () => {
      throw new Error('card declined');
    };
    await producer.publish('payments', 1, { id: 'a' });
    await events.dead.first();
    expect(logs.errors).toHaveLength(1);
    for (const part of ["'a'", "'payments'", 'Payments.collect', 'failed', 'card declined']) {
      expect(logs.errors[0]).toContain(part);
    }
  });

  it('keeps the last error even while the message waits for its retry', async () => {
    const { producer, events, payments, partition } = await start({ backoff: { type: 'fixed', delay: '1h' } });
    payments.respond = () => {
      throw new Error('down');
    };
    await producer.publish('payments', 1, { id: 'a' });
    await events.retried.first();
    expect(await partition.failure('a')).toMatchObject({ reason: 'failed', name: 'Error', message: 'down' });
    expect(await partition.spent('a')).toEqual({ deliveries: 1, attempts: 1 });
  });

  it('leaves nothing behind if a retry succeeds', async () => {
    const { producer, events, payments, partition } = await start();
    payments.respond = (_payload, { attempt }) => {
      if (attempt < 3) throw new Error('down');
    };
    await producer.publish('payments', 1, { id: 'a' });
    expect(await events.acked.first()).toMatchObject({ attempt: 3 });
    expect(await partition.envelope('a')).toBeUndefined();
    expect(await partition.failure('a')).toBeUndefined();
    expect(await bed.redis.exists(partition.key('deliveries'))).toBe(0);
    expect(await partition.dead()).toEqual([]);
  });

  it('is kept up to the configured number, of which the latest are kept', async () => {
    const { producer, events, payments, partition } = await start({ attempts: 1, deadLetter: { maxCount: 2 } });
    payments.respond = () => {
      throw new Error('down');
    };
    for (const id of ['a', 'b', 'c', 'd']) {
      await producer.publish('payments', 1, { id });
      await events.dead.first((event) => event.id === id);
    }
    await eventually(async () => expect(await partition.dead()).toEqual(['c', 'd']));
    expect(await partition.envelope('a')).toBeUndefined();
    expect(await partition.failure('a')).toBeUndefined();
    expect(await partition.envelope('d')).toBeDefined();
  });

  it('is removed once it is older than configured', async () => {
    const { producer, events, payments } = await start({ attempts: 1, deadLetter: { maxAge: '100ms' } });
    payments.respond = () => {
      throw new Error('down');
    };
    await producer.publish('payments', 1, { id: 'a' });
    await events.dead.first();
    await eventually(async () => expect(await messageKeys()).toEqual([]));
  });
});

describe('what a handler throws', () => {
  it.each([
    { what: 'a string', thrown: 'no money', failure: { name: 'string', message: "'no money'" } },
    { what: 'nothing', thrown: undefined, failure: { name: 'undefined', message: 'undefined' } },
    { what: 'null', thrown: null, failure: { name: 'object', message: 'null' } },
    { what: 'an object', thrown: { status: 402 }, failure: { name: 'object', message: '{ status: 402 }' } },
    { what: 'a symbol', thrown: Symbol('no'), failure: { name: 'symbol', message: 'Symbol(no)' } },
  ])('may be $what', async ({ thrown, failure }) => {
    const { producer, events, payments, partition } = await start({ attempts: 2 });
    payments.respond = () => {
      throw thrown;
    };
    await producer.publish('payments', 1, { id: 'a' });
    expect((await events.retried.first()).error).toBe(thrown);
    expect((await events.dead.first()).failure).toEqual({ reason: 'failed', ...failure });
    expect(await partition.failure('a')).toEqual({ reason: 'failed', ...failure });
  });

  it('may be an error with megabytes of text, of which the beginning is kept', async () => {
    const { producer, events, payments, partition } = await start({ attempts: 1 });
    payments.respond = () => {
      throw new Error('long'.repeat(1_000_000));
    };
    await producer.publish('payments', 1, { id: 'a' });
    await events.dead.first();
    const failure = await partition.failure('a');
    expect(failure?.['message']).toMatch(/^(long)+$/);
    expect(JSON.stringify(failure).length).toBeLessThan(20_000);
  });

  it('may be an error that cannot be read', async () => {
    const { producer, events, payments } = await start({ attempts: 2 });
    payments.respond = () => {
      throw Object.defineProperty(new Error('hidden'), 'message', {
        get: () => {
          throw new Error('not to be read');
        },
      });
    };
    await producer.publish('payments', 1, { id: 'a' });
    expect((await events.dead.first()).failure.reason).toBe('failed');
  });
});

describe('expireAfter', () => {
  it('makes a message that is too late a dead letter without calling the handler', async () => {
    const { events, payments, partition } = await start();
    await bed.publishLate('payments', 1, HOUR, { id: 'a', expireAfter: '30m' });
    const event = await events.dead.first();
    expect(event).toMatchObject({ id: 'a', failure: { reason: 'expired' } });
    expect(event.failure.message).toMatch(/30 minutes.* 360\d{4} ms/);
    expect(payments.calls).toEqual([]);
    expect(await partition.dead()).toEqual(['a']);
    expect(await partition.payload('a')).toBe(1);
    expect(await partition.spent('a')).toEqual({ deliveries: 1, attempts: 0 });
  });

  it('does not affect messages that are late by less', async () => {
    const { events } = await start();
    await bed.publishLate('payments', 1, HOUR, { id: 'a', expireAfter: '2h' });
    expect(await events.acked.first()).toMatchObject({ id: 'a' });
  });

  it('of the topic applies to its messages', async () => {
    const { events } = await start({ expireAfter: '30m' });
    await bed.publishLate('payments', 1, HOUR);
    expect((await events.dead.first()).failure.reason).toBe('expired');
  });

  it('of the message takes precedence over that of the topic', async () => {
    const { events } = await start({ expireAfter: '30m' });
    await bed.publishLate('payments', 1, HOUR, { expireAfter: '2h' });
    expect(await events.acked.first()).toMatchObject({ attempt: 1 });
  });
});

describe('a message whose last attempt ended with its process', () => {
  it('is a dead letter with the error of the previous attempt, and spends no attempt beyond the last', async () => {
    const { producer, events, payments, partition } = await start();
    const { dueAt } = await producer.publish('payments', 1, { id: 'a', delay: 300, attempts: 2 });
    const before = { reason: 'failed', name: 'Error', message: 'down' };
    await bed.redis.hset(partition.key('deliveries'), 'a', `0 2 2 ${dueAt.getTime()}`);
    await bed.redis.hset(partition.key('errors'), 'a', JSON.stringify(before));

    const { failure } = await events.dead.first();
    expect(failure).toMatchObject({ reason: 'crashed', lastError: before });
    expect(failure.message).toContain('Attempt 2 was the last');
    expect(payments.calls).toEqual([]);
    expect(await partition.spent('a')).toEqual({ deliveries: 3, attempts: 2 });
  });
});

describe('a stored message that cannot be read', () => {
  const unreadable = ['', 'garbage{', '"text"', '{}', '[]', '["x", 1]', '[1]', '[1, 2, {"b": 3}]', '\u0000\uFFFD'];

  it('becomes a dead letter unchanged, and blocks nothing', async () => {
    const { producer, events, payments, partition } = await start();
    const deliverAt = (await bed.time()) + 400;
    const ids = unreadable.map((_, i) => `bad-${i}`);
    for (const id of [...ids, 'good']) await producer.publish('payments', id, { id, deliverAt });
    await bed.redis.hset(partition.key('messages'), Object.fromEntries(unreadable.map((raw, i) => [`bad-${i}`, raw])));

    await events.acked.first(({ id }) => id === 'good');
    const dead = await events.dead.take(unreadable.length);
    expect(dead.map(({ id, failure }) => `${id} ${failure.reason}`).toSorted()).toEqual(
      ids.map((id) => `${id} undecodable`),
    );
    expect(payments.ids).toEqual(['good']);
    expect((await partition.dead()).toSorted()).toEqual(ids);
    for (const [i, raw] of unreadable.entries()) {
      expect(await partition.envelope(`bad-${i}`)).toBe(raw);
      expect(await partition.failure(`bad-${i}`)).toMatchObject({ reason: 'undecodable', name: expect.any(String) });
      expect(await partition.spent(`bad-${i}`)).toEqual({ deliveries: 1, attempts: 0 });
    }
  });

  it('is removed and reported if nothing is stored under its id', async () => {
    const { producer, events, payments, partition, logs } = await start();
    const deliverAt = (await bed.time()) + 200;
    await producer.publish('payments', 'lost', { id: 'lost', deliverAt });
    await producer.publish('payments', 'good', { id: 'good', deliverAt });
    await bed.redis.hdel(partition.key('messages'), 'lost');

    await events.acked.first(({ id }) => id === 'good');
    expect(payments.ids).toEqual(['good']);
    expect(await partition.scheduled()).toEqual([]);
    expect(await partition.inFlight()).toEqual([]);
    expect(await bed.redis.hget(partition.key('meta'), 'repaired')).toBe('1');
    expect(logs.warnings.join()).toContain("'payments'");
  });
});
