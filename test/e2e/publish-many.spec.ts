import { Injectable } from '@nestjs/common';
import {
  type DelayedMessage,
  DelayedHandler,
  DuplicateMessageError,
  InvalidArgumentError,
  PayloadTooLargeError,
  PublishManyError,
  type PublishOptions,
  SerializationError,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { startScraped } from '../support/app/scraped.js';

@Injectable()
class Mails extends Recorder<number> {
  @DelayedHandler('mails')
  async send(payload: number, message: DelayedMessage<number>) {
    return this.take(payload, message);
  }
}

const bed = useBed();

async function start() {
  const app = await bed.start({ providers: [Mails] });
  return { producer: app.producer, events: app.events, mails: app.get(Mails) };
}

function messages(count: number, options: (i: number) => PublishOptions = () => ({})) {
  return Array.from({ length: count }, (_, payload) => ({ payload, options: options(payload) }));
}

async function messageKeys(): Promise<string[]> {
  return (await bed.keys()).filter((key) => /:(scheduled|messages|keyed)$/.test(key));
}

describe('publishMany', () => {
  it('returns one result per message, in order, and delivers all of them', async () => {
    const { producer, mails } = await start();
    const results = await producer.publishMany(
      'mails',
      messages(100, (i) => ({ id: `m${i}`, delay: i })),
    );
    expect(results.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, i) => `m${i}`));
    for (const { topic, duplicate, dueAt } of results) {
      expect({ topic, duplicate }).toEqual({ topic: 'mails', duplicate: false });
      expect(dueAt).toBeInstanceOf(Date);
    }
    expect(new Set(results.map(({ partition }) => partition)).size).toBeGreaterThan(1);
    const calls = await mails.called(100);
    expect(new Set(calls.map(({ message, payload }) => `${message.id} ${payload}`))).toEqual(
      new Set(Array.from({ length: 100 }, (_, i) => `m${i} ${i}`)),
    );
  });

  it('takes 2,000 messages', async () => {
    const { producer, mails } = await start();
    const results = await producer.publishMany('mails', messages(2000));
    expect(new Set(results.map(({ id }) => id)).size).toBe(2000);
    const calls = await mails.called(2000, 15_000);
    expect(calls.map(({ payload }) => payload).toSorted((a, b) => a - b)).toEqual(
      messages(2000).map(({ payload }) => payload),
    );
    expect(new Set(mails.ids).size).toBe(2000);
  });

  it('accepts an empty list', async () => {
    const { producer } = await start();
    expect(await producer.publishMany('mails', [])).toEqual([]);
  });

  it.each<{ what: string; bad: { payload: unknown; options?: PublishOptions }; error: new (...args: never) => Error }>([
    { what: 'an option that is wrong', bad: { payload: 1, options: { delay: -1 } }, error: InvalidArgumentError },
    { what: 'a payload that JSON cannot hold', bad: { payload: 1n }, error: SerializationError },
    { what: 'a payload that is too large', bad: { payload: 'x'.repeat(1 << 20) }, error: PayloadTooLargeError },
    {
      what: 'a value that is not an object',
      bad: null as unknown as { payload: unknown },
      error: InvalidArgumentError,
    },
    { what: 'an unknown property', bad: { payload: 1, delay: 5 } as { payload: unknown }, error: InvalidArgumentError },
  ])('writes nothing at all if one message has $what', async ({ bad, error }) => {
    const { producer } = await start();
    const all = [...messages(50), bad, ...messages(50)];
    await expect(producer.publishMany<unknown>('mails', all)).rejects.toThrow(error);
    expect(await messageKeys()).toEqual([]);
  });

  it('rejects with the result of each message if some are duplicates, and publishes the others', async () => {
    const { producer, mails } = await start();
    for (const id of ['m3', 'm7']) await producer.publish('mails', 0, { id, delay: '1h' });
    const all = messages(10, (i) => ({ id: `m${i}` }));
    const error: unknown = await producer.publishMany('mails', all).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(PublishManyError);
    const { results, topic, code, message, cause } = error as PublishManyError;
    expect({ topic, code }).toEqual({ topic: 'mails', code: 'PUBLISH_MANY' });
    expect(message).toMatch(/2 of 10 .*'mails'.*'m3'/);
    expect(cause).toBeInstanceOf(DuplicateMessageError);
    expect(results).toHaveLength(10);
    for (const [i, result] of results.entries()) {
      expect(result).toMatchObject(
        i === 3 || i === 7
          ? { status: 'rejected', reason: { code: 'DUPLICATE_MESSAGE', id: `m${i}` } }
          : { status: 'fulfilled', value: { id: `m${i}`, duplicate: false } },
      );
    }
    await mails.called(8);
    expect(new Set(mails.ids)).toEqual(new Set([0, 1, 2, 4, 5, 6, 8, 9].map((i) => `m${i}`)));
  });

  it('rejects the second of two messages with the same id', async () => {
    const { producer, mails } = await start();
    const error: unknown = await producer
      .publishMany(
        'mails',
        messages(2, () => ({ id: 'a' })),
      )
      .catch((e) => e);
    expect((error as PublishManyError).results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    const [call] = await mails.called();
    expect(call?.payload).toBe(0);
  });

  it('replaces and ignores duplicates on request', async () => {
    const { producer, mails } = await start();
    await producer.publishMany(
      'mails',
      messages(2, (i) => ({ id: `m${i}`, delay: '1h' })),
    );
    const results = await producer.publishMany('mails', [
      { payload: 10, options: { id: 'm0', onDuplicate: 'replace' } },
      { payload: 11, options: { id: 'm1', onDuplicate: 'ignore' } },
    ]);
    expect(results.map(({ duplicate }) => duplicate)).toEqual([true, true]);
    const [call] = await mails.called();
    expect(call).toMatchObject({ payload: 10, message: { id: 'm0' } });
    expect(mails.calls).toHaveLength(1);
  });
});

/** An application that only publishes, and how often it has called the script that publishes. */
async function startCounted(partitions: number) {
  const { app, scrape } = await startScraped(bed, { options: { consumer: false, defaults: { partitions } } });
  const scriptCalls = async (): Promise<number> =>
    (await scrape()).value('delay_queue_script_duration_seconds_count', { script: 'publish' }) ?? 0;
  return { producer: app.producer, scriptCalls };
}

describe('publishes of the same turn of the event loop', () => {
  it('travel together, one script call per partition', async () => {
    const { producer, scriptCalls } = await startCounted(4);
    // Makes the topic known and the script loaded.
    await producer.publish('mails', 0, { delay: '1h' });
    const before = await scriptCalls();
    const results = await Promise.all(
      Array.from({ length: 300 }, async (_, i) => producer.publish('mails', i, { delay: '1h' })),
    );
    expect(new Set(results.map(({ partition }) => partition)).size).toBe(4);
    expect((await scriptCalls()) - before).toBe(4);

    // Each still has its own result or error.
    const mixed = await Promise.allSettled(
      ['a', 'b', 'a', 'c'].map(async (id) => producer.publish('mails', 0, { id, key: 'k', delay: '1h' })),
    );
    expect((await scriptCalls()) - before).toBe(5);
    expect(mixed.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(mixed[2]).toMatchObject({ reason: { code: 'DUPLICATE_MESSAGE', id: 'a' } });
  });

  it('are sent in several calls if there are many, so that none keeps Redis busy for long', async () => {
    const { producer, scriptCalls } = await startCounted(1);
    await producer.publish('mails', 0, { delay: '1h' });
    const before = await scriptCalls();
    await producer.publishMany(
      'mails',
      messages(2000, () => ({ delay: '1h' })),
    );
    // 200 per call.
    expect((await scriptCalls()) - before).toBe(10);
  });
});
