import {
  DelayQueueEvents,
  DeliveryAbortedError,
  InvalidArgumentError,
  ReceiverUnavailableError,
  RetryLaterError,
  topic,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { useKitBed } from '../../support/kit/kit-bed.js';
import { ReceivingProcess, TOPIC, idsOf } from '../../support/kit/receiving-process.js';

useKitBed();

describe('a message that was received', () => {
  it('is what a handler would get, until it is acknowledged', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
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
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
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
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
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
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness, { backoff: { type: 'fixed', delay: '1h' }, attempts: 4 });
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
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
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
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness, { partitions: 1 });
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
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
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
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
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

describe('those who wait', () => {
  it('are served first come, first served, each with what is due in the same turn', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness, { partitions: 1 });
    const calls = [process.receive({ wait: '1m', max: 2 }), process.receive({ wait: '1m', max: 2 })];
    const messages = ['a', 'b', 'c'].map((id) => ({ payload: 1, options: { id, delay: '1s' } }));
    await process.producer.publishMany(TOPIC, messages);
    await harness.advance('1s');

    expect((await Promise.all(calls)).map(idsOf)).toEqual([['a', 'b'], ['c']]);
  });

  it('get nothing if nothing is due in time, and nothing is lost that comes later', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
    const waiting = process.receive({ wait: '1s' });
    await harness.advance('1s');
    expect(await waiting).toEqual([]);
    await process.publish('a');
    expect(await process.inFlight()).toBe(0);
    expect(idsOf(await process.receive())).toEqual(['a']);
  });

  it('can give up', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
    const [before, meanwhile] = [new AbortController(), new AbortController()];
    before.abort(new Error('never mind'));
    await expect(process.receive({ wait: '1m', signal: before.signal })).rejects.toThrow('never mind');
    // Node takes eleven listeners for a leak.
    const listening = vi.spyOn(meanwhile.signal, 'addEventListener');
    const waiting = Array.from({ length: 12 }, () => process.receive({ wait: '1m', signal: meanwhile.signal }));
    const ended = Promise.allSettled(waiting);
    await harness.advance(20);
    meanwhile.abort(new Error('gone'));
    expect(await ended).toEqual(waiting.map(() => ({ status: 'rejected', reason: new Error('gone') })));
    expect(listening).toHaveBeenCalledTimes(1);
    await process.publish('a');

    expect(await process.receiveOne()).toMatchObject({ id: 'a', attempt: 1 });
  });

  it('get nothing that comes when they have just given up, which comes again at once', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
    const { delivered } = process.module.get(DelayQueueEvents);
    for (const abort of [(end: () => void) => end(), queueMicrotask]) {
      const givingUp = new AbortController();
      const waiting = process.receive({ wait: '1m', signal: givingUp.signal });
      const listening = delivered.subscribe(() => abort(() => givingUp.abort(new Error('gone'))));
      await process.publish('a');
      await expect(waiting).rejects.toThrow('gone');
      listening.unsubscribe();
      const message = await process.receiveOne({ wait: '1m' });
      expect(message).toMatchObject({ id: 'a', attempt: 1 });
      await message.ack();
    }
  });

  it('are answered when the process shuts down, which receives nothing more', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
    await process.publish('a');
    const { receipt } = await process.receiveOne();
    const waiting = process.receive({ wait: '1h' });
    await process.module.close();

    expect(await waiting).toEqual([]);
    await expect(process.receive()).rejects.toThrow(ReceiverUnavailableError);
    await expect(process.receiver.settle(receipt, 'ack')).rejects.toThrow(ReceiverUnavailableError);
    const other = await ReceivingProcess.start(harness);
    expect(await other.receiver.settle(receipt, 'ack')).toBe('settled');
  });

  it('keep partitions only while they wait, and for 5 s after', async () => {
    const harness = new DelayQueueHarness();
    const [a, b] = [await ReceivingProcess.start(harness), await ReceivingProcess.start(harness)];
    const owners = async (): Promise<number[]> => {
      const { partitions } = await a.admin.stats(TOPIC);
      const names = partitions.map(({ owner }) => owner);
      return [
        new Set(names.filter((name) => name !== undefined)).size,
        names.filter((name) => name === undefined).length,
      ];
    };
    const waiting = a.receive({ wait: '20s', max: 8 });
    await b.receive();
    expect(await owners()).toEqual([2, 0]);
    await harness.advance('10s');
    // The other one has not received since.
    expect(await owners()).toEqual([1, 0]);
    await b.producer.publishMany(
      TOPIC,
      Array.from({ length: 8 }, (_, payload) => ({ payload, options: { delay: '1s' } })),
    );
    await harness.advance('1s');
    expect(await waiting).toHaveLength(8);
    await harness.advance('4s');
    expect(await owners()).toEqual([1, 0]);
    await harness.advance('2s');
    expect(await owners()).toEqual([0, 4]);
  });
});
