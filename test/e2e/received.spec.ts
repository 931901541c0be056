import { Injectable } from '@nestjs/common';
import {
  type DeadLetter,
  DelayQueueAdmin,
  DelayQueueReceiver,
  OnDeadLetter,
  RateLimitedError,
  RetryLaterError,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { LEASE, TOPIC, receiveOne, startReceiving } from '../support/app/receiving.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

describe('a message that was received', () => {
  it('comes again when its lease ends, and its first receipt is stale', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    const first = await receiveOne(receiver);
    const again = await receiveOne(receiver);
    // As for a handler, the first crashes spend no attempt.
    expect([again.id, again.attempt]).toEqual(['a', 1]);
    expect(await first.ack()).toBe('stale');
    expect(app.events.stale.past).toMatchObject([{ id: 'a', attempt: 1 }]);
    expect(await again.ack()).toBe('settled');
  });

  it('stays with its receiver as long as its lease is extended', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    const message = await receiveOne(receiver);
    expect(await message.extend('3s')).toBe('extended');
    expect(await receiver.receive(TOPIC, { wait: 1500 })).toEqual([]);
    expect(await message.ack()).toBe('settled');
    expect(await message.extend('3s')).toBe('lost');
    expect(message.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
  });

  it('is settled by any process that has its receipt', async () => {
    const { app, receiver } = await startReceiving(bed);
    const other = await bed.start({ options: { consumer: false } });
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    const { receipt } = await receiveOne(receiver);
    expect(await other.get(DelayQueueReceiver).extend(receipt, '1m')).toBe('extended');
    expect(
      await other.get(DelayQueueReceiver).settle(receipt, { outcome: 'retry', error: new Error('no'), delay: '1h' }),
    ).toBe('settled');
    expect(await app.get(DelayQueueAdmin).get(TOPIC, 'a')).toMatchObject({
      state: 'scheduled',
      attempts: 1,
      failure: { reason: 'failed', name: 'Error', message: 'no' },
      history: [{ attempt: 1 }],
    });
  });

  it('is retried by its own backoff, and dead after its last attempt', async () => {
    @Injectable()
    class Hooks {
      readonly letters: DeadLetter[] = [];

      @OnDeadLetter(TOPIC)
      dead(letter: DeadLetter): void {
        this.letters.push(letter);
      }
    }
    const app = await bed.start({ providers: [Hooks] });
    const receiver = app.get(DelayQueueReceiver);
    await app.producer.publish(TOPIC, 1, { id: 'a', attempts: 2, backoff: { type: 'fixed', delay: 100 } });
    expect(await (await receiveOne(receiver)).retry(new TypeError('first'))).toBe('settled');
    expect(await (await receiveOne(receiver)).retry('second')).toBe('settled');
    expect(await app.get(DelayQueueAdmin).get(TOPIC, 'a')).toMatchObject({
      state: 'dead',
      failure: { reason: 'failed', message: 'second' },
    });
    await eventually(() => expect(app.get(Hooks).letters).toMatchObject([{ id: 'a', failure: { message: 'second' } }]));
    expect(app.events.dead.past).toHaveLength(1);
  });

  it('is dead at once if its receiver gives it up, and back at once if it is released', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    expect(await (await receiveOne(receiver)).release()).toBe('settled');
    const again = await receiveOne(receiver);
    expect(again.attempt).toBe(1);
    expect(await again.retry(new RetryLaterError(100))).toBe('settled');
    const later = await receiveOne(receiver);
    expect(later.attempt).toBe(1);
    expect(await later.dead('no such order')).toBe('settled');
    expect(await app.get(DelayQueueAdmin).get(TOPIC, 'a')).toMatchObject({
      state: 'dead',
      failure: { reason: 'unrecoverable', message: 'no such order' },
    });
  });

  it('that has met a rate limit holds the whole topic, in all processes, unless it says whom else that concerns', async () => {
    const { app, receiver } = await startReceiving(bed);
    const other = (await startReceiving(bed)).receiver;
    const admin = app.get(DelayQueueAdmin);
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    const narrow = await receiveOne(receiver, { lease: '1m' });
    expect(await narrow.retry(new RateLimitedError(50, { scope: 'message' }))).toBe('settled');
    expect((await admin.stats(TOPIC)).heldUntil).toBeUndefined();

    const { receipt } = await receiveOne(receiver, { lease: '1m' });
    const error = new RateLimitedError('1h');
    const begun = Date.now();
    // It need not be a process that takes part in the topic.
    const settling = (await bed.start({ options: { consumer: false } })).get(DelayQueueReceiver);
    expect(await settling.settle(receipt, { outcome: 'retry', error })).toBe('settled');
    for (const { heldUntil } of (await admin.stats(TOPIC)).partitions) {
      expect(heldUntil?.getTime()).toBeGreaterThan(begun + 3_500_000);
    }
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 20 }, (_, i) => ({ payload: i, options: { id: `${i}` } })),
    );
    const waiting = [receiver, other].map((one) => one.receive(TOPIC, { wait: 200, max: 20 }));
    expect((await Promise.all(waiting)).flat()).toEqual([]);
  });

  it('that is cancelled meanwhile is gone whatever its receiver says', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    const message = await receiveOne(receiver);
    expect(await app.producer.cancel(TOPIC, 'a')).toBe('in-flight');
    expect(await message.extend('5s')).toBe('cancelled');
    expect(await message.retry('x')).toBe('cancelled');
    expect(await app.get(DelayQueueAdmin).get(TOPIC, 'a')).toBeUndefined();
  });

  it('that was made up is stale, and leaves nothing', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publish(TOPIC, 1, { id: 'a', delay: '1h' });
    const before = await bed.keys();
    for (const [topic, index] of [
      ['nobody', 0],
      [TOPIC, 4],
    ] as const) {
      const receipt = Buffer.from(JSON.stringify([topic, index, 'a', 'x.1', 1, 1])).toString('base64url');
      expect([await receiver.settle(receipt, 'ack'), await receiver.settle(receipt, 'retry')]).toEqual([
        'stale',
        'stale',
      ]);
      expect(await receiver.extend(receipt, '1m')).toBe('lost');
    }
    expect(await bed.keys()).toEqual(before);
  });

  it('is settled with many others', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 40 }, (_, i) => ({ payload: i, options: { id: `${i}` } })),
    );
    const messages = await receiver.receive(TOPIC, { max: 200, wait: 0 });
    const settlements = messages.map(({ receipt }, i) => ({
      receipt,
      outcome: i % 2 === 0 ? ('ack' as const) : ('release' as const),
    }));
    expect(await receiver.settleMany(settlements)).toEqual(Array(40).fill('settled'));
    expect(await receiver.settleMany(settlements)).toEqual(Array(40).fill('stale'));
    expect((await app.get(DelayQueueAdmin).stats(TOPIC)).scheduled).toBe(20);
  });

  it('at most once is gone when it is received', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    const message = await receiveOne(receiver, { lease: 0 });
    expect(message.leaseEndsAt).toBeUndefined();
    expect(await app.get(DelayQueueAdmin).get(TOPIC, 'a')).toBeUndefined();
    expect([await message.ack(), await message.retry(), await message.extend('5s')]).toEqual([
      'settled',
      'stale',
      'lost',
    ]);
    expect(await receiver.receive(TOPIC, { wait: 0, lease: LEASE })).toEqual([]);
  });
});
