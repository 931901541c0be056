import {
  DelayQueueEvents,
  DeliveryAbortedError,
  InvalidArgumentError,
  RetryLaterError,
  topic,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useKitBed } from '../support/kit/kit-bed.js';
import { ReceivingProcess, TOPIC, idsOf } from '../support/kit/receiving-process.js';

useKitBed();

describe('a message that was received', () => {
  it('is what a handler would get, until it is acknowledged', async () => {
    const { process } = await ReceivingProcess.alone();
    const about = { id: 'a', key: 'k', headers: { by: 'me' } };
    await process.producer.publish(TOPIC, { size: 7 }, { ...about, attempts: 7 });
    const message = await process.receiveOne();

    expect(message).toMatchObject({ ...about, topic: TOPIC, payload: { size: 7 }, attempt: 1, maxAttempts: 7 });
    expect(message.dueAt).toEqual(message.publishedAt);
    expect(await process.receive()).toEqual([]);
    expect(await message.ack()).toBe('settled');
    expect(await message.ack()).toBe('stale');
    expect(await process.admin.get(TOPIC, { id: 'a', key: 'k' })).toBeUndefined();
  });

  it('comes again if its lease ends, and what is settled then is stale', async () => {
    const { harness, process } = await ReceivingProcess.alone();
    await process.publish('a');
    const stale: unknown[] = [];
    process.module.get(DelayQueueEvents).stale.subscribe((event) => stale.push(event));
    const message = await process.receiveOne({ lease: '2s' });
    const waiting = process.receiveOne({ wait: '1m' });
    await harness.advance('1.9s');
    expect(message.signal.aborted).toBe(false);
    await harness.advance('0.2s');

    expect(message.signal.reason).toEqual(new DeliveryAbortedError('LEASE_LOST'));
    expect(await waiting).toMatchObject({ id: 'a' });
    expect([await message.ack(), await message.extend('5s')]).toEqual(['stale', 'stale']);
    // Whoever has settled too late was told, and whoever listens; that is no fault of this process.
    expect([stale, process.errors, process.logs.warnings]).toEqual([[expect.objectContaining({ id: 'a' })], [], []]);
  });

  it('has the lease that its receiver wants, whoever waits before it, and any other that it is given', async () => {
    const { harness, process } = await ReceivingProcess.alone();
    const [first, second] = [
      process.receiveOne({ wait: '1m', lease: '2s' }),
      process.receiveOne({ wait: '1m', lease: '1h' }),
    ];
    await process.producer.publishMany(
      TOPIC,
      ['a', 'b'].map((id) => ({ payload: 1, options: { id, key: 'k' } })),
    );
    const [short, long] = await Promise.all([first, second]);
    expect(await short.extend('10m')).toBe('extended');
    await harness.advance('9m');
    expect([short, long].map(({ signal }) => signal.aborted)).toEqual([false, false]);
    await harness.advance('2m');
    expect([short, long].map(({ signal }) => signal.aborted)).toEqual([true, false]);
    await harness.advance('50m');
    expect(long.signal.aborted).toBe(true);
    expect(idsOf(await process.receive({ max: 2 })).toSorted()).toEqual(['a', 'b']);
  });

  it('is retried after its own backoff, that of its topic, or the delay that is named, until its attempts are used up', async () => {
    const { harness, process } = await ReceivingProcess.alone({ backoff: { type: 'fixed', delay: '1h' }, attempts: 4 });
    await process.producer.publish(TOPIC, 1, { id: 'own', backoff: { type: 'steps', delays: ['2s', '3s'] } });
    const dueIn = async (): Promise<number> =>
      ((await process.admin.get(TOPIC, 'own'))?.at.getTime() ?? NaN) - harness.now.getTime();
    await (await process.receiveOne()).retry(new TypeError('no disk'));
    expect(await dueIn()).toBe(2000);
    await harness.advance('2s');
    await (await process.receiveOne()).retry('still no disk', '5m');
    expect(await dueIn()).toBe(300_000);
    await harness.advance('5m');
    await (await process.receiveOne()).retry(new RetryLaterError('7s'));
    expect(await dueIn()).toBe(7000);
    await harness.advance('7s');
    await (await process.receiveOne()).retry();
    await harness.advance('3s');
    expect(await (await process.receiveOne()).retry('full')).toBe('settled');

    expect(harness.deadLetters(TOPIC)).toMatchObject([
      { id: 'own', failure: { reason: 'failed', name: 'Error', message: 'full' }, attempts: 4 },
    ]);
    await process.publish('plain');
    await (await process.receiveOne()).retry();
    expect((await process.admin.get(TOPIC, 'plain'))?.at.getTime()).toBe(harness.now.getTime() + 3_600_000);
  });

  it('is a dead letter at once, with the reason, and comes back at once without having spent its attempt', async () => {
    const { harness, process } = await ReceivingProcess.alone();
    await process.publish('a');
    expect(await (await process.receiveOne()).release()).toBe('settled');
    const again = await process.receiveOne();
    expect(again.attempt).toBe(1);
    await again.dead('no such image');

    expect(harness.deadLetters(TOPIC)).toMatchObject([
      { id: 'a', failure: { reason: 'unrecoverable', message: 'no such image' } },
    ]);
    expect(harness.deadLetters(TOPIC)[0]?.failure.stack).toBeUndefined();
  });

  it('spends its attempts alone if its leases end again and again, and is dead then', async () => {
    const { harness, process } = await ReceivingProcess.alone({ partitions: 1 });
    const publish = async (id: string) => process.producer.publish(TOPIC, 1, { id, attempts: 2 });
    await Promise.all(['killer', 'beside'].map(publish));
    const received: string[] = [];
    // Whoever receives the killer dies, with all that it has received beside it.
    for (let run = 0; run < 10; run++) {
      const messages = await process.receive({ max: 10, lease: '1s' });
      received.push(idsOf(messages).toSorted().join());
      if (!idsOf(messages).includes('killer')) await Promise.all(messages.map((message) => message.ack()));
      await harness.advance('2s');
    }

    expect(harness.deadLetters(TOPIC)).toMatchObject([{ id: 'killer', failure: { reason: 'crashed' } }]);
    expect(received.slice(0, 3)).toEqual(['beside,killer', 'beside,killer', 'beside,killer']);
    expect(await process.admin.stats(TOPIC)).toMatchObject({ scheduled: 0, inFlight: 0, dead: 1 });
  });

  it('hears that it was cancelled, and is not retried then', async () => {
    const { harness, process } = await ReceivingProcess.alone();
    await process.publish('a');
    const message = await process.receiveOne();
    expect(await process.producer.cancel(TOPIC, 'a')).toBe('in-flight');
    await harness.advance(1);

    expect(message.signal.reason).toEqual(new DeliveryAbortedError('CANCELLED'));
    expect(await message.extend('5s')).toBe('cancelled');
    expect(await message.retry()).toBe('cancelled');
    expect(await process.admin.get(TOPIC, 'a')).toBeUndefined();
  });

  it('fits the schema of its topic, or is a dead letter', async () => {
    const { harness, process } = await ReceivingProcess.alone();
    const checked = topic(TOPIC, { schema: z.object({ at: z.coerce.date() }) });
    await process.producer.publish(TOPIC, { at: 'never' }, { id: 'bad' });
    await process.producer.publish(TOPIC, { at: '2026-01-01' }, { id: 'good' });
    const messages = await process.receiver.receive(checked, { max: 2 });

    expect(messages.map(({ payload }) => payload.at.getFullYear())).toEqual([2026]);
    await harness.advance(1);
    expect(harness.deadLetters(TOPIC)).toMatchObject([{ id: 'bad', failure: { reason: 'invalid' } }]);
    const other = topic(TOPIC, { schema: z.object({}) });
    await expect(process.receiver.receive(other)).rejects.toThrow(InvalidArgumentError);
  });
});
