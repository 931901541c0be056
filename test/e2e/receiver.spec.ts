import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ConfigurationError,
  DelayQueueAdmin,
  DelayQueueReceiver,
  DelayedHandler,
  IntakeOvertakenError,
  InvalidArgumentError,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { LEASE, TOPIC, receiveOne, startReceiving } from '../support/app/receiving.js';
import { startRedis } from '../support/servers/redis-server.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

describe('receive()', () => {
  it('gives a message as a handler gets it, with a receipt', async () => {
    const { app, receiver } = await startReceiving(bed);
    const headers = { source: 'web' };
    const { dueAt } = await app.producer.publish(TOPIC, { n: 1 }, { id: 'a', key: 'k', headers, attempts: 7 });
    const message = await receiveOne(receiver);
    expect(message).toMatchObject({
      id: 'a',
      topic: TOPIC,
      key: 'k',
      payload: { n: 1 },
      headers,
      attempt: 1,
      maxAttempts: 7,
      dueAt,
    });
    expect(message.receipt).toMatch(/^[\w-]+$/);
    expect((message.leaseEndsAt?.getTime() ?? 0) - dueAt.getTime()).toBeGreaterThanOrEqual(LEASE - 1);
    expect(await message.ack()).toBe('settled');
    expect(await message.ack()).toBe('stale');
    expect(await app.get(DelayQueueAdmin).get(TOPIC, { id: 'a', key: 'k' })).toBeUndefined();
    expect(app.events.acked.past).toMatchObject([{ id: 'a', attempt: 1 }]);
  });

  it('waits for a message that falls due, and no longer than it was asked to', async () => {
    const { app, receiver } = await startReceiving(bed);
    expect(await receiver.receive(TOPIC, { wait: 0 })).toEqual([]);
    const begun = performance.now();
    const waiting = receiver.receive(TOPIC, { wait: '5s' });
    await app.producer.publish(TOPIC, 1, { id: 'a', delay: 300 });
    expect(await waiting).toMatchObject([{ id: 'a' }]);
    expect(performance.now() - begun).toBeLessThan(3000);
    const again = performance.now();
    expect(await receiver.receive(TOPIC, { wait: 200 })).toEqual([]);
    expect(performance.now() - again).toBeGreaterThanOrEqual(190);
  });

  it('gives as many as are wanted, from all partitions, and each to one receiver', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 100 }, (_, i) => ({ payload: i, options: { id: `${i}` } })),
    );
    const receivers = Array.from({ length: 10 }, async () => receiver.receive(TOPIC, { max: 20, wait: '2s' }));
    const batches = await Promise.all(receivers);
    const rest = await receiver.receive(TOPIC, { max: 200, wait: 0 });
    const ids = [...batches, rest].flat().map(({ id }) => id);
    expect(batches.every((batch) => batch.length <= 20)).toBe(true);
    expect([ids.length, new Set(ids).size]).toEqual([100, 100]);
    expect((await app.get(DelayQueueAdmin).stats(TOPIC)).inFlight).toBe(100);
  });

  it('gives no more than some 1 MiB at once, and the rest to the next one as if it had never been claimed', async () => {
    const { app, receiver } = await startReceiving(bed);
    const payload = 'x'.repeat(600_000);
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 6 }, () => ({ payload })),
    );
    const attempts: number[] = [];
    await eventually(async () => {
      const messages = await receiver.receive(TOPIC, { max: 10, wait: '1s', lease: '1m' });
      expect(messages.length).toBeLessThanOrEqual(2);
      attempts.push(...messages.map(({ attempt }) => attempt));
      expect(attempts).toHaveLength(6);
    });
    expect(attempts).toEqual(Array(6).fill(1));
  });

  it('looks at what is due now without waiting', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 30 }, (_, i) => ({ payload: i })),
    );
    expect(await receiver.receive(TOPIC, { max: 200, wait: 0 })).toHaveLength(30);
    expect(await receiver.receive(TOPIC, { max: 200, wait: 0 })).toEqual([]);
  });

  it('leases for as long as each receiver asks', async () => {
    const { app, receiver } = await startReceiving(bed);
    const short = receiver.receive(TOPIC, { wait: '5s', lease: '2s' });
    const long = receiver.receive(TOPIC, { wait: '5s', lease: '1h' });
    await app.producer.publishMany(TOPIC, [{ payload: 1 }, { payload: 2 }]);
    const lengths = (await Promise.all([short, long])).map(([message]) =>
      Math.round(((message?.leaseEndsAt?.getTime() ?? 0) - (message?.dueAt.getTime() ?? 0)) / 1000),
    );
    expect(lengths).toEqual([2, 3600]);
  });

  it('ends with nothing if its signal aborts, and what comes then goes to the next one', async () => {
    const { app, receiver } = await startReceiving(bed);
    const abort = new AbortController();
    const waiting = receiver.receive(TOPIC, { signal: abort.signal });
    await sleep(100);
    abort.abort();
    expect(await waiting).toEqual([]);
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    await receiveOne(receiver);
  });

  it('keeps the order of keys: the next one comes once the first is settled', async () => {
    const { app, receiver } = await startReceiving(bed, { [TOPIC]: { ordered: true } });
    for (const id of ['a', 'b']) await app.producer.publish(TOPIC, id, { id, key: 'k' });
    const first = await receiveOne(receiver, { max: 10 });
    expect([first.id, await receiver.receive(TOPIC, { max: 10, wait: 0 })]).toEqual(['a', []]);
    await first.retry('not yet', 0);
    const again = await receiveOne(receiver);
    expect([again.id, again.attempt]).toEqual(['a', 2]);
    await again.ack();
    expect((await receiveOne(receiver)).id).toBe('b');
  });

  it('obeys limits: a place in flight is free once the message is settled, or its lease has ended', async () => {
    const { app, receiver } = await startReceiving(bed, { [TOPIC]: { maxInFlight: { topic: 2 } } });
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 5 }, (_, i) => ({ payload: i, options: { id: `${i}` } })),
    );
    const [first, second] = [await receiveOne(receiver), await receiveOne(receiver)];
    expect(await receiver.receive(TOPIC, { max: 5, wait: 200 })).toEqual([]);
    await first.ack();
    const third = await receiveOne(receiver);
    expect([second.id, third.id]).not.toContain(first.id);
    // The other two are given up.
    expect(await receiver.receive(TOPIC, { max: 1, wait: '5s', lease: LEASE })).toHaveLength(1);
  });

  it('keeps to the limits that are stored, and keeps what is finished, unless it is configured with others', async () => {
    const limited = { maxInFlight: { topic: 1 }, finished: { maxAge: '1h' } } as const;
    const deployed = await startReceiving(bed, { [TOPIC]: limited });
    await deployed.app.producer.publishMany(
      TOPIC,
      ['a', 'b', 'c'].map((id) => ({ payload: 1, options: { id, key: 'k' } })),
    );
    const first = await receiveOne(deployed.receiver);
    await first.ack();
    await deployed.app.close();

    const app = await bed.start();
    const receiver = app.get(DelayQueueReceiver);
    const admin = app.get(DelayQueueAdmin);
    const message = await receiveOne(receiver);
    expect(await receiver.receive(TOPIC, { max: 5, wait: 0 })).toEqual([]);
    await message.ack();
    expect([
      await admin.get(TOPIC, { id: first.id, key: 'k' }),
      await admin.get(TOPIC, { id: message.id, key: 'k' }),
    ]).toMatchObject([{ state: 'finished' }, { state: 'finished', outcome: 'acked' }]);

    await app.close();

    const other = await startReceiving(bed, { [TOPIC]: { maxInFlight: { topic: 2 } } });
    await other.app.producer.publish(TOPIC, 1, { key: 'k' });
    await receiveOne(other.receiver, { lease: '1m' });
    await receiveOne(other.receiver, { lease: '1m' });
  });

  it('gives what its checks let through, and makes dead letters of the rest', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publish(TOPIC, 1, { id: 'late', expireAfter: 1, delay: '1h' });
    const { partition } = await app.producer.publish(TOPIC, 1, { id: 'right' });
    expect(partition).toBeGreaterThanOrEqual(0);
    await app.get(DelayQueueAdmin).runNow(TOPIC, 'late');
    await sleep(20);
    expect((await receiveOne(receiver)).id).toBe('right');
    expect(await receiver.receive(TOPIC, { wait: 100 })).toEqual([]);
    await eventually(async () =>
      expect(await app.get(DelayQueueAdmin).get(TOPIC, 'late')).toMatchObject({
        state: 'dead',
        failure: { reason: 'expired' },
      }),
    );
  });

  it('refuses what makes no sense', async () => {
    @Injectable()
    class Handlers {
      @DelayedHandler('handled')
      handle(): void {}
    }
    const app = await bed.start({ providers: [Handlers], options: { topics: { ordered: { ordered: true } } } });
    const receiver = app.get(DelayQueueReceiver);
    await expect(receiver.receive('handled')).rejects.toThrow(InvalidArgumentError);
    await expect(receiver.receive('ordered', { lease: 0 })).rejects.toThrow(/which is ordered/);
    await expect(receiver.receive(TOPIC, { max: 0 })).rejects.toThrow(InvalidArgumentError);
    await expect(receiver.receive(TOPIC, { lease: 999 })).rejects.toThrow(InvalidArgumentError);
    await expect(receiver.receive(TOPIC, { lese: 1 } as object)).rejects.toThrow(InvalidArgumentError);
    await expect(receiver.settle('nonsense', 'ack')).rejects.toThrow(InvalidArgumentError);
    const producing = await bed.start({ options: { consumer: false } });
    await expect(producing.get(DelayQueueReceiver).receive(TOPIC)).rejects.toThrow(ConfigurationError);
  });
});

describe('while Redis is away', () => {
  it('rejects whoever begins to receive, and lets those wait who do already', async () => {
    const server = await startRedis();
    const app = await bed.start({ options: { redis: server.url, publishTimeout: 500 } });
    const receiver = app.get(DelayQueueReceiver);
    const waiting = receiver.receive(TOPIC, { wait: '30s' });
    await sleep(200);
    await server.kill();
    await expect(receiver.receive('another', { wait: 0 })).rejects.toThrow(
      /Redis has not let this process take partitions/,
    );
    await server.start();
    await eventually(async () => app.producer.publish(TOPIC, 1, { id: 'a' }));
    expect(await waiting).toMatchObject([{ id: 'a' }]);
    await app.close();
    await server.stop();
  });
});

describe('the partitions of a topic that is pulled', () => {
  it('are held while somebody receives, and 5 s after', async () => {
    const { app, receiver } = await startReceiving(bed);
    const admin = app.get(DelayQueueAdmin);
    const owners = async (): Promise<number> =>
      (await admin.stats(TOPIC)).partitions.filter(({ owner }) => owner !== undefined).length;
    await receiver.receive(TOPIC, { wait: 0 });
    expect(await owners()).toBe(4);
    await sleep(4000);
    expect(await owners()).toBe(4);
    await eventually(async () => expect(await owners()).toBe(0));
    await app.producer.publish(TOPIC, 1);
    await receiveOne(receiver);
    expect(await owners()).toBe(4);
  });

  it('are shared by those who receive, and one who does not starves nobody', async () => {
    const [first, second] = [await startReceiving(bed), await startReceiving(bed)];
    await Promise.all([first, second].map(({ receiver }) => receiver.receive(TOPIC, { wait: 100 })));
    await first.app.producer.publishMany(
      TOPIC,
      Array.from({ length: 40 }, (_, i) => ({ payload: i })),
    );
    let received = 0;
    await eventually(async () => {
      received += (await first.receiver.receive(TOPIC, { max: 200, wait: 500 })).length;
      expect(received).toBe(40);
    });
  });
});

describe('a shutdown', () => {
  it('answers whoever waits, and what was received stays received', async () => {
    const { app, receiver } = await startReceiving(bed);
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    const message = await receiveOne(receiver, { lease: '1m' });
    const waiting = receiver.receive(TOPIC, { wait: '20s' });
    await sleep(50);
    await app.close();
    expect(await waiting).toEqual([]);
    await expect(receiver.receive(TOPIC)).rejects.toThrow(IntakeOvertakenError);
    const { app: next, receiver: other } = await startReceiving(bed);
    expect(await next.get(DelayQueueAdmin).get(TOPIC, 'a')).toMatchObject({ state: 'in-flight' });
    expect(await other.settle(message.receipt, 'ack')).toBe('settled');
  });
});
