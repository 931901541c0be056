import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import {
  DelayedHandler,
  type DeadLetter,
  DelayQueueReceiver,
  InvalidArgumentError,
  OnDeadLetter,
  type ReceiveOptions,
  ReceiverUnavailableError,
  type TopicOptions,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { OPERATION } from '../../support/internals.js';
import { collectGarbage } from '../../support/collect-garbage.js';
import { useKitBed } from '../../support/kit/kit-bed.js';
import { ReceivingProcess, TOPIC, idsOf } from '../../support/kit/receiving-process.js';

useKitBed();

describe('a receipt', () => {
  it('is answered as the first time if it is settled again by the same operation, in any process', async () => {
    const harness = new DelayQueueHarness();
    const [a, b] = [await ReceivingProcess.start(harness), await ReceivingProcess.start(harness)];
    // All of them in one partition.
    await a.producer.publishMany(
      TOPIC,
      ['a', 'b', 'c'].map((id) => ({ payload: 1, options: { id, key: 'k' } })),
    );
    const received = await a.receiver.receive(TOPIC, { max: 3 });
    const settle = async ({ receiver }: ReceivingProcess) =>
      Promise.all(
        received.map(async ({ id, receipt }) => {
          const outcome = { outcome: 'ack', ...(id !== 'b' && { [OPERATION]: 'op' }) } as const;
          return receiver.settle(receipt, outcome);
        }),
      );
    expect(await settle(a)).toEqual(['settled', 'settled', 'settled']);
    expect(await settle(b)).toEqual(['settled', 'stale', 'settled']);
    expect(await a.receiver.settle(received[0]?.receipt ?? '', 'ack')).toBe('stale');
  });

  it('counts as it is settled first, also if it is settled again at the same moment', async () => {
    const harness = new DelayQueueHarness();
    const [a, b] = [await ReceivingProcess.start(harness), await ReceivingProcess.start(harness)];
    await a.publish('a', 'b');
    const [one, other] = [await a.receiveOne(), await a.receiveOne()] as const;
    const first = { status: ['settled', 'stale', 'stale'], failure: { message: 'first' } };
    const settled = await Promise.all([one.retry('first', '1h'), one.ack(), one.release()]);
    expect([settled, (await a.admin.get(TOPIC, one.id))?.failure]).toMatchObject([first.status, first.failure]);
    // In a process that has not given it, too.
    const outcomes = [{ outcome: 'dead', reason: 'first' }, { outcome: 'ack' }, { outcome: 'release' }] as const;
    const elsewhere = outcomes.map(async (outcome) => b.receiver.settle(other.receipt, outcome));
    expect(await Promise.all(elsewhere)).toEqual(first.status);
    expect((await a.admin.get(TOPIC, other.id))?.failure).toMatchObject(first.failure);
  });

  it('settles, and extends the lease, in any process', async () => {
    const harness = new DelayQueueHarness();
    const [a, b] = [await ReceivingProcess.start(harness), await ReceivingProcess.start(harness, { attempts: 1 })];
    await a.producer.publish(TOPIC, 1, { id: 'a', backoff: { type: 'fixed', delay: '2s' } });
    const { receipt } = await a.receiveOne({ lease: '1m' });
    expect(receipt).toMatch(/^[\w-]+$/);
    expect(await b.receiver.extend(receipt, '5m')).toBe('extended');
    await harness.advance('4m');
    expect(await b.receiver.settle(receipt, { outcome: 'retry', reason: 'elsewhere' })).toBe('settled');
    expect(await a.admin.get(TOPIC, 'a')).toMatchObject({
      state: 'scheduled',
      at: new Date(harness.now.getTime() + 2000),
      history: [{ attempt: 1, message: 'elsewhere', duration: 240_000 }],
    });
    await harness.advance('2s');
    const again = await a.receiveOne();
    expect(await b.receiver.settle(receipt, 'ack')).toBe('stale');
    expect(await b.receiver.settle(again.receipt, { outcome: 'release', delay: '1h' })).toBe('settled');
    expect(await again.ack()).toBe('stale');
    // It has spent no attempt, and was its last.
    const at = new Date(harness.now.getTime() + 3_600_000);
    expect(await a.admin.get(TOPIC, 'a')).toMatchObject({ state: 'scheduled', at, attempts: 1 });
  });

  it('tells hooks for dead letters of a message that another process has received', async () => {
    const letters: DeadLetter[] = [];
    class Hooks {
      @OnDeadLetter(TOPIC)
      async tell(letter: DeadLetter): Promise<void> {
        letters.push(letter);
      }
    }
    const harness = new DelayQueueHarness();
    const [a, b] = [
      await ReceivingProcess.start(harness),
      await ReceivingProcess.start(harness, {}, { providers: [Hooks] }),
    ];
    await a.publish('a');
    const { receipt } = await a.receiveOne();
    await b.receiver.settle(receipt, { outcome: 'dead', reason: new TypeError('broken') });
    await harness.advance(1);

    expect(letters).toMatchObject([
      { id: 'a', payload: 'payload of a', attempts: 1, failure: { message: 'broken', cause: { name: 'TypeError' } } },
    ]);
  });

  it('keeps no payload in memory that nobody has any more, and whoever has the signal still hears', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);
    await process.producer.publish(TOPIC, { frames: [1] }, { id: 'a' });
    await process.producer.publish(TOPIC, { frames: [2] }, { id: 'b' });
    const receive = async (): Promise<[WeakRef<object>, AbortSignal]> => {
      const message = await process.receiveOne({ lease: '1m' });
      return [new WeakRef(message.payload as object), message.signal];
    };
    const [payload, { aborted }] = await receive();
    const [other, signal] = await receive();
    await collectGarbage();
    expect([payload.deref(), aborted]).toEqual([undefined, false]);
    expect(other.deref()).toEqual(expect.anything());
    await harness.advance('1m');

    expect(signal.aborted).toBe(true);
    expect(await process.receive({ max: 2 })).toHaveLength(2);
  });

  it('of a topic that is handled here is refused once its handling has ended', async () => {
    const ends: unknown[] = [];
    @Injectable()
    class Images implements BeforeApplicationShutdown {
      receipt = '';

      constructor(private readonly receiver: DelayQueueReceiver) {}

      @DelayedHandler(TOPIC)
      handle(): void {}

      async beforeApplicationShutdown(): Promise<void> {
        ends.push(await this.receiver.settle(this.receipt, 'ack').catch((error: unknown) => error));
      }
    }
    const harness = new DelayQueueHarness();
    const a = await ReceivingProcess.start(harness);
    await a.publish('a');
    const message = await a.receiveOne();
    const b = await ReceivingProcess.start(harness, {}, { providers: [Images] });
    b.module.get(Images).receipt = message.receipt;
    await b.module.close();

    expect(ends).toEqual([expect.any(ReceiverUnavailableError)]);
    expect(await message.ack()).toBe('settled');
  });

  it.each([
    ['nothing', undefined, 'A receipt must be one that receive() has given'],
    ['a text', 'abc', 'A receipt must be one that receive() has given'],
    ['a made-up one', made('images', 7), "A receipt names partition 7 of topic 'images', which has 4."],
  ])('is refused if it is %s', async (_, receipt, message) => {
    const process = await ReceivingProcess.start(new DelayQueueHarness());
    await process.publish('a');

    await expect(process.receiver.settle(receipt as string, 'ack')).rejects.toThrow(message);
    await expect(process.receiver.extend(receipt as string, '5s')).rejects.toThrow(InvalidArgumentError);
  });

  it('of a topic that does not exist is stale, and makes none', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness);

    expect(await process.receiver.settle(made('nowhere', 0), 'ack')).toBe('stale');
    expect(await process.admin.topics()).not.toContain('nowhere');
  });
});

/** A receipt that nobody has given. */
function made(name: string, partition: number): string {
  return Buffer.from(JSON.stringify([1, name, partition, 'a', 'epoch.1', 1, 5, 0])).toString('base64url');
}

describe('what is received at most once', () => {
  it.each<[string, TopicOptions, ReceiveOptions]>([
    ['with lease: 0', {}, { lease: 0 }],
    ['of a topic that is set so', { delivery: 'at-most-once' }, { lease: '5s' }],
  ])('is gone before it is given: %s', async (_, settings, options) => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness, settings);
    await process.publish('a', 'b');
    const messages = await process.receive({ ...options, max: 2 });

    expect(idsOf(messages).toSorted()).toEqual(['a', 'b']);
    expect(await process.admin.stats(TOPIC)).toMatchObject({ scheduled: 0, inFlight: 0 });
    expect(await messages[0]?.ack()).toBe('stale');
    await harness.advance('1h');
    expect(await process.receive(options)).toEqual([]);
  });

  it('is given once if it cannot be acknowledged until its lease has ended', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness, { partitions: 1 }, { consumer: { lease: '1s' } });
    await process.publish('a');
    harness.failNext('settle', { times: 8 });
    const receiving = [process.receive({ lease: 0 }), process.receive({ lease: '1m', wait: '4s' })];
    await harness.advance('4s');

    expect((await Promise.all(receiving)).map(idsOf)).toEqual([['a'], []]);
  });

  it.each<[string, TopicOptions, string]>([
    ['an ordered topic', { ordered: true }, 'is ordered'],
    ['a topic that limits what is in flight', { maxInFlight: { topic: 1 } }, 'limits what is in flight'],
  ])('is not what is received of %s', async (_, settings, why) => {
    const process = await ReceivingProcess.start(new DelayQueueHarness(), settings);

    await expect(process.receive({ lease: 0 })).rejects.toThrow(
      `Topic 'images' ${why}, so it cannot be received with lease: 0`,
    );
  });
});

describe('order and limits hold for those who receive', () => {
  it('gives one message of a key, and the next once that is settled', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness, { ordered: true });
    for (const id of ['a', 'b', 'c']) await process.producer.publish(TOPIC, 1, { id, key: 'k' });
    const first = await process.receive({ max: 10 });
    expect(idsOf(first)).toEqual(['a']);
    await first[0]?.retry('later', '10s');
    expect(await process.receive({ max: 10 })).toEqual([]);
    await harness.advance('10s');
    await (await process.receiveOne()).ack();
    expect(idsOf(await process.receive({ max: 10 }))).toEqual(['b']);
  });

  it('gives no more than may be in flight, and the next once one of them is settled, wherever that is', async () => {
    const harness = new DelayQueueHarness();
    const settings: TopicOptions = { maxInFlight: { topic: 2 } };
    const [a, b] = [await ReceivingProcess.start(harness, settings), await ReceivingProcess.start(harness, settings)];
    await a.publish('1', '2', '3', '4', '5');
    const receive = async (): Promise<string[]> =>
      (await a.receiveLimited(harness, { max: 10, lease: '10m' })).map(({ receipt }) => receipt);
    const [first = '', second = '', ...more] = await receive();
    expect([second, more]).toEqual([expect.stringMatching(/./), []]);
    await collectGarbage();
    const waiting = a.receiveOne({ wait: '8m', lease: '10m' });
    // It is in flight as long as its lease lasts, whoever has extended that.
    await b.receiver.extend(first, '20m');
    await harness.advance('7m');
    expect(await b.receiver.settle(second, 'ack')).toBe('settled');
    await harness.advance(1);
    const third = await waiting;
    await harness.advance('5m');
    expect(await a.receiveLimited(harness, { max: 10 })).toEqual([]);
    await third.ack();
    expect(await a.receiveLimited(harness, { max: 10 })).toHaveLength(1);
  });

  it('gives no more than the rate permits', async () => {
    const harness = new DelayQueueHarness();
    const process = await ReceivingProcess.start(harness, { rateLimit: { max: 2, per: '1m' } });
    await process.publish('1', '2', '3');
    expect(await process.receiveLimited(harness, { max: 10 })).toHaveLength(2);
    const waiting = process.receive({ wait: '5m' });
    await harness.advance('50s');
    expect(await process.inFlight()).toBe(2);
    await harness.advance('15s');
    expect(await waiting).toHaveLength(1);
  });
});
