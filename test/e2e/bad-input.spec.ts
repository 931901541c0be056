import {
  InvalidArgumentError,
  PayloadTooLargeError,
  type PublishOptions,
  SerializationError,
  type Topic,
  topic,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';

const TEN_YEARS = 10 * 365.25 * 24 * 3_600_000;

const bed = useBed();

async function startProducer() {
  const { producer } = await bed.start({ options: { consumer: false } });
  return producer;
}

/** Only the topic's number of partitions may have been written. */
async function expectNothingWritten(): Promise<void> {
  expect((await bed.keys()).filter((key) => !key.endsWith(':config'))).toEqual([]);
}

/** Options that do not compile, as JavaScript may pass them. */
function wrong(options: unknown): PublishOptions {
  return options as PublishOptions;
}

describe('publish refuses options with an InvalidArgumentError that says what was given and what is allowed:', () => {
  it.each<{ what: string; options: PublishOptions; says: string[] }>([
    {
      what: 'an unknown option',
      options: wrong({ dealy: '30m' }),
      says: [
        "no option 'dealy' in the publish options",
        "Did you mean 'delay'?",
        'id, key, delay, deliverAt, attempts, backoff, timeout, expireAfter, headers',
      ],
    },
    { what: 'no object', options: wrong('30m'), says: ['must be an object', "'30m'"] },
    { what: 'a list', options: wrong(['30m']), says: ['must be an object', "'30m'"] },
    { what: 'null', options: wrong(null), says: ['must be an object', 'null'] },
    { what: 'a delay that is NaN', options: { delay: NaN }, says: ['delay', "'30m'", 'Given: NaN'] },
    {
      what: 'a delay with an unknown unit',
      options: { delay: '30 bananas' },
      says: ['Units: ms, s, m', "Given: '30 bananas'"],
    },
    { what: 'a delay in months', options: { delay: '1mo' }, says: ['Units: ', "such as '30d'", "Given: '1mo'"] },
    { what: 'a delay that could be months', options: { delay: '1M' }, says: ["write 'm' for minutes", "Given: '1M'"] },
    { what: 'an empty delay', options: { delay: '' }, says: ['delay', "Given: ''"] },
    { what: 'a delay that is a Date', options: wrong({ delay: new Date(0) }), says: ['delay', '1970'] },
    { what: 'a delay that is null', options: wrong({ delay: null }), says: ['delay', 'Given: null'] },
    { what: 'a delay that is a BigInt', options: wrong({ delay: 5n }), says: ['delay', 'Given: 5n'] },
    { what: 'a negative delay', options: { delay: -1 }, says: ['between 0 ms and 10 years', 'Given: -1'] },
    { what: 'a negative delay in words', options: { delay: '-5m' }, says: ['between 0 ms', "Given: '-5m'"] },
    { what: 'a delay below zero that would be rounded up to zero', options: { delay: -0.5 }, says: ['Given: -0.5'] },
    { what: 'a delay over 10 years', options: { delay: TEN_YEARS + 1 }, says: ['delay', '10 years'] },
    { what: 'an infinite delay', options: { delay: Infinity }, says: ['delay', 'Given: Infinity'] },
    {
      what: 'both delay and deliverAt',
      options: { delay: '5s', deliverAt: 17 },
      says: ['either delay or deliverAt', "delay '5s'", 'deliverAt 17'],
    },
    {
      what: 'a deliverAt that is not a valid date',
      options: { deliverAt: new Date('nonsense') },
      says: ['Invalid Date'],
    },
    { what: 'a deliverAt that is NaN', options: { deliverAt: NaN }, says: ['deliverAt', 'Given: NaN'] },
    { what: 'a deliverAt in words', options: wrong({ deliverAt: '2030-01-01' }), says: ["Given: '2030-01-01'"] },
    { what: 'a deliverAt after 10 years', options: { deliverAt: Date.now() + TEN_YEARS + 60_000 }, says: ['10 years'] },
    { what: 'an infinite deliverAt', options: { deliverAt: Infinity }, says: ['deliverAt', 'Infinity'] },
    { what: 'an empty id', options: { id: '' }, says: ['id', '1 to 256 characters', "Given: ''"] },
    { what: 'an id that is too long', options: { id: 'x'.repeat(257) }, says: ['id', '1 to 256 characters'] },
    { what: 'an id that is a number', options: wrong({ id: 42 }), says: ['id', 'string', 'Given: 42'] },
    { what: 'an id with U+0000', options: { id: 'a\0b' }, says: ['id', 'U+0000'] },
    { what: 'an id with half a surrogate pair', options: { id: 'a\uD800' }, says: ['id', 'surrogate'] },
    { what: 'an empty key', options: { key: '' }, says: ['key', '1 to 256 characters', "Given: ''"] },
    { what: 'attempts 0', options: { attempts: 0 }, says: ['attempts', 'from 1 to 1000', 'Given: 0'] },
    { what: 'a fraction of an attempt', options: { attempts: 1.5 }, says: ['attempts', 'whole number', 'Given: 1.5'] },
    { what: 'attempts in words', options: wrong({ attempts: '3' }), says: ['attempts', "Given: '3'"] },
    { what: 'a timeout of 0', options: { timeout: 0 }, says: ['timeout', 'Given: 0'] },
    { what: 'an expireAfter of 0', options: { expireAfter: 0 }, says: ['expireAfter', 'Given: 0'] },
    {
      what: 'a backoff that is a function',
      options: wrong({ backoff: () => 5 }),
      says: ['backoff', 'function cannot be stored', 'handler or the topic'],
    },
    { what: 'a backoff of an unknown type', options: wrong({ backoff: { type: 'x', delay: 1 } }), says: ["'fixed'"] },
    {
      what: 'a backoff without a delay',
      options: wrong({ backoff: { type: 'fixed' } }),
      says: ['backoff.delay', 'Given: undefined'],
    },
    {
      what: 'a fixed backoff with a factor',
      options: wrong({ backoff: { type: 'fixed', delay: 1, factor: 2 } }),
      says: ["no option 'factor'", 'type, delay'],
    },
    {
      what: 'a backoff whose factor is too large',
      options: { backoff: { type: 'exponential', delay: 1, factor: 11 } },
      says: ['backoff.factor', 'from 1 to 10', 'Given: 11'],
    },
    {
      what: 'a backoff whose maxDelay is below its delay',
      options: { backoff: { type: 'exponential', delay: 100, maxDelay: 50 } },
      says: ['backoff.maxDelay', 'between 100 ms', 'Given: 50'],
    },
    { what: 'a backoff that is null', options: wrong({ backoff: null }), says: ['backoff', 'null'] },
    { what: 'headers that are a list', options: wrong({ headers: ['a'] }), says: ['headers', 'object of strings'] },
    { what: 'a header that is a number', options: wrong({ headers: { n: 5 } }), says: ["headers['n']", 'Given: 5'] },
    {
      what: 'an onDuplicate that is unknown',
      options: wrong({ onDuplicate: 'skip' }),
      says: ["'reject', 'ignore', 'replace', 'earliest'", "Given: 'skip'"],
    },
  ])('$what', async ({ options, says }) => {
    const producer = await startProducer();
    const error: unknown = await producer.publish('jobs', 1, options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', name: 'InvalidArgumentError' });
    for (const text of says) expect((error as Error).message).toContain(text);
    expect((error as Error).message.length).toBeLessThan(500);
    await expectNothingWritten();
  });
});

describe('publish refuses as a topic', () => {
  it.each([
    { what: 'a name with braces', name: 'a{b}c' },
    { what: 'an empty name', name: '' },
    { what: 'a name with a space', name: 'a b' },
    { what: 'a name with a line break at its end', name: 'jobs\n' },
    { what: 'a name with other letters', name: 'aufträge' },
    { what: 'a name that is too long', name: 'x'.repeat(129) },
    { what: 'a number', name: 42 as unknown as string },
    { what: 'undefined', name: undefined as unknown as string },
    { what: 'null', name: null as unknown as string },
    { what: 'an object of another kind', name: { topic: 'jobs' } as unknown as string },
  ])('$what', async ({ name }) => {
    const producer = await startProducer();
    for (const attempt of [
      async () => producer.publish(name, 1),
      async () => producer.publishMany(name, [{ payload: 1 }]),
      async () => producer.reschedule(name, 'a', { delay: 0 }),
      async () => producer.cancel(name, 'a'),
    ]) {
      await expect(attempt()).rejects.toThrow(InvalidArgumentError);
      await expect(attempt()).rejects.toThrow(/topic must be 1 to 128 characters of A-Z a-z 0-9 \. _ : - Given: /);
    }
    expect(await bed.keys()).toEqual([]);
  });

  it('a typed topic with a wrong name, when it is made', () => {
    expect(() => topic('a{b}')).toThrow(InvalidArgumentError);
    expect(() => topic('')).toThrow(/1 to 128 characters/);
  });
});

describe('publish refuses a payload', () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;

  it.each<{ what: string; payload: unknown; says: RegExp }>([
    { what: 'with a cycle', payload: cycle, says: /payload\.self leads back .* cycle/ },
    { what: 'with a BigInt', payload: { amount: 5n }, says: /payload\.amount is a BigInt, .* as a string/ },
    {
      what: 'with NaN',
      payload: { items: [1, 2, 3, { price: NaN }] },
      says: /^payload\.items\[3\]\.price is NaN, which JSON would turn into null\. Publish a finite number, or null, or/,
    },
    {
      what: 'with a Map',
      payload: { tags: new Map([['a', 1]]) },
      says: /^payload\.tags is an instance of Map, .* 'serializer'/,
    },
    { what: 'with an Error', payload: [new Error('x')], says: /^payload\[0\] is an instance of Error, .* plain data/ },
    { what: 'with a function', payload: { done: () => 1 }, says: /^payload\.done is a function, .* leave out/ },
    { what: 'with undefined in a list', payload: [1, undefined], says: /^payload\[1\] is undefined, .* null/ },
    { what: 'that nobody awaited', payload: Promise.resolve(1), says: /^payload is a promise\. Await it first/ },
    { what: 'that is undefined', payload: undefined, says: /undefined.*Publish null/ },
    { what: 'that is a function', payload: () => 1, says: /function.*Publish null/i },
    { what: 'that is a symbol', payload: Symbol('s'), says: /symbol.*Publish null/ },
    {
      what: 'whose toJSON throws',
      payload: {
        toJSON: () => {
          throw new Error('no way');
        },
      },
      says: /no way/,
    },
  ])('$what, with a SerializationError', async ({ payload, says }) => {
    const producer = await startProducer();
    const publish = producer.publish('jobs', payload);
    await expect(publish).rejects.toThrow(SerializationError);
    await expect(publish).rejects.toThrow(says);
    await expect(publish).rejects.toMatchObject({ code: 'SERIALIZATION' });
    await expectNothingWritten();
  });

  it.each<{ what: string; payload: unknown; headers?: Record<string, string>; size: number }>([
    { what: 'a byte over 1 MiB', payload: 'x'.repeat(1024 * 1024 - 1), size: 1024 * 1024 + 1 },
    { what: 'over 1 MiB only in UTF-8', payload: 'ü'.repeat(600 * 1024), size: 2 * 600 * 1024 + 2 },
    { what: 'over 1 MiB with its headers', payload: 'x', headers: { h: 'x'.repeat(1024 * 1024) }, size: 1048587 },
  ])('of $what, with a PayloadTooLargeError that says both sizes', async ({ payload, headers, size }) => {
    const producer = await startProducer();
    const publish = producer.publish('jobs', payload, headers && { headers });
    await expect(publish).rejects.toThrow(PayloadTooLargeError);
    await expect(publish).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE', size, limit: 1024 * 1024 });
    await expect(publish).rejects.toThrow(`${size} bytes, ${1024 * 1024} are allowed`);
    await expectNothingWritten();
  });
});

describe('publish accepts', () => {
  it('the limits of every option', async () => {
    const producer = await startProducer();
    const published = await producer.publish('x'.repeat(128), 1, {
      id: 'i'.repeat(256),
      key: 'k'.repeat(256),
      delay: TEN_YEARS,
      attempts: 1000,
      timeout: 1,
      expireAfter: 1,
      backoff: { type: 'exponential', delay: 0, factor: 10, maxDelay: 0, jitter: 1 },
      headers: {},
    });
    expect(published.id).toHaveLength(256);
  });

  it('a typed topic', async () => {
    const jobs: Topic<{ n: number }> = topic<{ n: number }>('jobs');
    const producer = await startProducer();
    expect(await producer.publish(jobs, { n: 1 }, { delay: '1h' })).toMatchObject({ topic: 'jobs' });
  });

  it('undefined options like missing ones', async () => {
    const producer = await startProducer();
    const options = {
      id: undefined,
      delay: undefined,
      deliverAt: undefined,
      headers: undefined,
      onDuplicate: undefined,
    };
    const published = await producer.publish('jobs', 1, wrong(options));
    expect(published).toMatchObject({ topic: 'jobs', duplicate: false });
  });
});
