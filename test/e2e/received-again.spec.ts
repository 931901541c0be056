import { Injectable } from '@nestjs/common';
import {
  type DeadLetter,
  DelayQueueAdmin,
  DelayQueueReceiver,
  OnDeadLetter,
  RateLimitedError,
} from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { TOPIC, receiveOne, startReceiving } from '../support/app/receiving.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

it('an operation that is made again, elsewhere too, gets its first answers and changes nothing', async () => {
  const { app, receiver } = await startReceiving(bed);
  const other = await bed.start({ options: { consumer: false } });
  await app.producer.publishMany(
    TOPIC,
    ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ payload: id, options: { id } })),
  );
  const messages = await receiver.receive(TOPIC, { max: 10, wait: 0 });
  const outcomes = [
    'ack',
    { outcome: 'retry', delay: '1h' },
    { outcome: 'dead', reason: 'no' },
    'release',
    'ack',
    'retry',
  ] as const;
  const settlements = messages.map(({ receipt }, i) => ({ receipt, outcome: outcomes[i] as 'ack' }));
  const settled = settlements.map(() => 'settled');
  expect(await receiver.settleMany(settlements, { once: 'operation-1' })).toEqual(settled);
  const admin = app.get(DelayQueueAdmin);
  const before = await admin.stats(TOPIC);

  expect(await other.get(DelayQueueReceiver).settleMany(settlements, { once: 'operation-1' })).toEqual(settled);
  expect(await receiver.settleMany(settlements, { once: 'operation-2' })).toEqual(settlements.map(() => 'stale'));
  expect(await admin.stats(TOPIC)).toMatchObject({ dead: before.dead, inFlight: 0, scheduled: before.scheduled });
});

it('what is published, moved and cancelled once and again happens once', async () => {
  const { app } = await startReceiving(bed);
  const other = await bed.start({ options: { consumer: false } });
  // More than one call to a partition takes, and one that is refused.
  const many = Array.from({ length: 900 }, (_, i) => ({ payload: i, options: { id: `m${i}`, delay: '1h' } }));
  const published = await app.producer.once('p').publishMany(TOPIC, many);
  expect(published.some(({ duplicate }) => duplicate)).toBe(false);
  expect(await other.producer.once('p').publishMany(TOPIC, many)).toEqual(published);
  await expect(other.producer.once('q').publish(TOPIC, 1, { id: 'm1' })).rejects.toThrow(/m1/);

  expect(await app.producer.once('r').reschedule(TOPIC, 'm2', { delay: '2h' })).toBe(true);
  expect(await app.producer.once('c').cancel(TOPIC, 'm2')).toBe('cancelled');
  expect(await other.producer.once('r').reschedule(TOPIC, 'm2', { delay: '2h' })).toBe(true);
  expect(await other.producer.once('c').cancel(TOPIC, 'm2')).toBe('cancelled');
  expect(await other.producer.cancel(TOPIC, 'm2')).toBe('not-found');

  await app.producer.publishMany(
    TOPIC,
    Array.from({ length: 250 }, (_, i) => ({ payload: i, options: { key: 'k', tags: ['t'], delay: '1h' } })),
  );
  const cancelled = { cancelled: 250, inFlight: 0 };
  expect(await app.producer.once('t').cancelTagged(TOPIC, 't')).toEqual(cancelled);
  expect(await other.producer.once('t').cancelTagged(TOPIC, 't')).toEqual(cancelled);
  expect((await app.get(DelayQueueAdmin).stats(TOPIC)).scheduled).toBe(899);
});

it('what is settled once by an operation cannot be settled by another one', async () => {
  const { app, receiver } = await startReceiving(bed);
  await app.producer.publish(TOPIC, 1, { id: 'a' });
  const { receipt } = await receiveOne(receiver);
  expect(await receiver.settleMany([{ receipt, outcome: 'ack' }], { once: 'x' })).toEqual(['settled']);
  expect(await receiver.settle(receipt, 'ack')).toBe('stale');
});

it('is answered in full if the messages are kept and too large for one call', async () => {
  const { app, receiver } = await startReceiving(bed, { [TOPIC]: { finished: { maxAge: '1h' } } });
  await app.producer.publishMany(
    TOPIC,
    Array.from({ length: 6 }, (_, i) => ({ payload: 'x'.repeat(100_000), options: { id: `${i}`, key: 'k' } })),
  );
  const messages = await receiver.receive(TOPIC, { max: 6, lease: '1m' });
  while (messages.length < 6) messages.push(...(await receiver.receive(TOPIC, { max: 6, lease: '1m' })));
  const settlements = messages.map(({ receipt }) => ({ receipt, outcome: 'ack' as const }));
  const settled = settlements.map(() => 'settled');
  expect(await receiver.settleMany(settlements, { once: 'large' })).toEqual(settled);
  expect(await receiver.settleMany(settlements, { once: 'large' })).toEqual(settled);
  expect(await receiver.settleMany(settlements)).toEqual(settlements.map(() => 'stale'));
  expect(await app.get(DelayQueueAdmin).stats(TOPIC)).toMatchObject({ inFlight: 0, finished: 6 });
});

it('a rate limit that was met once holds the topic once', async () => {
  const { app, receiver } = await startReceiving(bed);
  const admin = app.get(DelayQueueAdmin);
  await app.producer.publish(TOPIC, 1, { id: 'a' });
  const { receipt } = await receiveOne(receiver, { lease: '1m' });
  const settlements = [{ receipt, outcome: { outcome: 'retry', error: new RateLimitedError('1h') } as const }];
  expect(await receiver.settleMany(settlements, { once: 'held' })).toEqual(['settled']);
  const { heldUntil } = await admin.stats(TOPIC);
  expect(heldUntil).toBeDefined();
  expect(await receiver.settleMany(settlements, { once: 'held' })).toEqual(['settled']);
  expect((await admin.stats(TOPIC)).heldUntil).toEqual(heldUntil);

  await admin.resume(TOPIC);
  expect(await receiver.settleMany(settlements)).toEqual(['stale']);
  expect((await admin.stats(TOPIC)).heldUntil).toBeUndefined();
});

it('what is named by its id alone is cancelled and moved once, though others have the same id', async () => {
  const { app } = await startReceiving(bed);
  const other = await bed.start({ options: { consumer: false } });
  const admin = app.get(DelayQueueAdmin);
  const keys = ['k0', 'k1', 'k2', 'k3', 'k4', 'k5'];
  // Some of them lie in the partition of the id.
  for (const key of keys) await app.producer.publish(TOPIC, 1, { id: '42', key, delay: '1h' });
  for (const [i, key] of keys.entries()) {
    expect([key, await app.producer.once(key).cancel(TOPIC, '42')]).toEqual([key, 'cancelled']);
    expect([key, await other.producer.once(key).cancel(TOPIC, '42')]).toEqual([key, 'cancelled']);
    expect((await admin.stats(TOPIC)).scheduled).toBe(keys.length - 1 - i);
  }
  expect(await app.producer.once('none').cancel(TOPIC, '42')).toBe('not-found');

  await app.producer.publish(TOPIC, 1, { id: '43', key: 'k0', delay: '1h' });
  expect(await app.producer.once('moved').reschedule(TOPIC, '43', { delay: '2h' })).toBe(true);
  await app.producer.cancel(TOPIC, '43');
  expect(await other.producer.once('moved').reschedule(TOPIC, '43', { delay: '2h' })).toBe(true);
});

it('a failure that is told again is told as what it was, also to the hook of its dead letter', async () => {
  const letters: string[] = [];
  @Injectable()
  class Hooks {
    @OnDeadLetter(TOPIC)
    dead({ id }: DeadLetter): void {
      letters.push(id);
    }
  }
  const { app, receiver } = await startReceiving(bed);
  const other = await bed.start({ providers: [Hooks] });
  await app.producer.publishMany(
    TOPIC,
    ['a', 'b'].map((id) => ({ payload: 1, options: { id } })),
  );
  const messages = await receiver.receive(TOPIC, { max: 2, wait: '2s' });
  const settlements = messages.map(({ id, receipt }) => ({ receipt, outcome: id === 'a' ? 'dead' : 'retry' }) as const);
  for (const one of [receiver, other.get(DelayQueueReceiver)]) {
    expect(await one.settleMany(settlements, { once: 'x' })).toEqual(['settled', 'settled']);
  }
  await eventually(() => expect(letters).toEqual(['a']));
  expect(other.events.dead.past).toMatchObject([{ id: 'a' }]);
  expect(other.events.retried.past).toMatchObject([{ id: 'b' }]);
  expect(other.events.released.past).toEqual([]);
});
