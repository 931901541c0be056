import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { PayloadTooLargeError, SerializationError } from '../../../lib/errors/publishing.errors.js';
import { decodeEnvelope } from '../../../lib/messages/envelope.js';
import type { PublishOptions } from '../../../lib/messages/publish-options.interface.js';
import { toStoredId } from '../../../lib/messages/stored-id.js';
import { toPublishRequest } from '../../../lib/producer/publish-request.js';
import { shown } from '../../support/shown.js';

const NOW = 1_767_225_600_000.25;
const TEN_YEARS = 315_576_000_000;
const DEFAULTS = { publishTimeout: 5000, replicas: { min: 1, timeout: 1000 } };

function request(options?: unknown, payload: unknown = { a: 1 }): ReturnType<typeof toPublishRequest> {
  return toPublishRequest({ payload }, options as PublishOptions | undefined, NOW, DEFAULTS);
}

describe('toPublishRequest', () => {
  it('gives a message without an id a UUIDv7, due at once', () => {
    const { id, key, ...message } = request();

    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(key).toBe(id);
    expect(message).toMatchObject({ storedId: toStoredId(id, id), due: { after: 0 }, onDuplicate: 'impossible' });
    expect(decodeEnvelope(message.envelope)).toMatchObject({ payload: { a: 1 }, publishedAt: Math.round(NOW) });
  });

  it('gives every message its own id, in the order of publishing', () => {
    const ids = Array.from({ length: 1000 }, () => request().id);

    expect(new Set(ids).size).toBe(1000);
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
  });

  it('looks for duplicates only of ids that the caller chose', () => {
    expect(request({ id: 'order-42' }).onDuplicate).toBe('reject');
    expect(request({ id: 'order-42', onDuplicate: 'ignore' }).onDuplicate).toBe('ignore');
    expect(request({ id: 'order-42', onDuplicate: 'earliest' }).onDuplicate).toBe('earliest');
    expect(request({ key: 'customer-7', onDuplicate: 'ignore' }).onDuplicate).toBe('impossible');
  });

  it('limits how long replacing can put a message off, within the bounds of a delay', () => {
    const replaced = { id: 'order-42', onDuplicate: 'replace' };
    expect(request(replaced).maxWait).toBeUndefined();
    expect(request({ ...replaced, maxWait: '1h' }).maxWait).toBe(3_600_000);
    expect(request({ ...replaced, maxWait: 0 }).maxWait).toBe(0);
    expect(request({ ...replaced, maxWait: '10y' }).maxWait).toBe(TEN_YEARS);
    // Nobody can replace it, but it is due in time.
    expect(request({ onDuplicate: 'replace', maxWait: 5 })).toMatchObject({ onDuplicate: 'impossible', maxWait: 5 });
  });

  it('uses id and key, which together are the stored id', () => {
    expect(request({ id: 'order-42' })).toMatchObject({
      id: 'order-42',
      key: 'order-42',
      storedId: 'order-42',
    });
    expect(request({ id: 'order-42', key: 'customer-7' })).toMatchObject({
      id: 'order-42',
      key: 'customer-7',
      storedId: 'order-42\0customer-7',
    });
    const { id, key, storedId } = request({ key: 'customer-7' });
    expect([key, storedId]).toEqual(['customer-7', toStoredId(id, key)]);
  });

  it('keeps every option with the message', () => {
    const message = request({
      id: 'order-42',
      attempts: 3,
      backoff: { type: 'exponential', delay: '1s', jitter: 0.5 },
      timeout: '30s',
      expireAfter: '1h',
      headers: { trace: 'abc' },
      tags: ['customer:7', 'eu', 'eu'],
      onDuplicate: 'replace',
    });

    expect(message.onDuplicate).toBe('replace');
    expect(message.tags).toEqual(['customer:7', 'eu']);
    expect(decodeEnvelope(message.envelope)).toEqual({
      payload: { a: 1 },
      publishedAt: Math.round(NOW),
      headers: { trace: 'abc' },
      tags: ['customer:7', 'eu'],
      attempts: 3,
      backoff: { delay: 1000, factor: 2, maxDelay: 300_000, jitter: 0.5 },
      timeout: 30_000,
      expireAfter: 3_600_000,
    });
  });

  it('treats undefined like a missing option', () => {
    const names = [
      'id',
      'key',
      'delay',
      'deliverAt',
      'attempts',
      'backoff',
      'timeout',
      'expireAfter',
      'headers',
      'tags',
    ];
    const nothing = Object.fromEntries([...names, 'onDuplicate', 'maxWait'].map((name) => [name, undefined]));

    expect(request(nothing)).toMatchObject({ due: { after: 0 }, onDuplicate: 'impossible', maxWait: undefined });
    expect(request(nothing).envelope).toBe(request().envelope);
    expect(request({ tags: [] })).toMatchObject({ envelope: request().envelope, tags: undefined });
  });

  it('does not change the options', () => {
    const options = Object.freeze({
      id: 'a',
      headers: Object.freeze({ a: 'b' }),
      tags: Object.freeze(['b', 'a']),
      backoff: Object.freeze({ type: 'fixed', delay: 5 }),
      deliverAt: Object.freeze(new Date(NOW)),
    });

    expect(() => request(options)).not.toThrow();
  });

  it('uses the due time of the options, with the bounds of due-time.ts', () => {
    expect(request({ delay: '30m' }).due).toEqual({ after: 1_800_000 });
    expect(request({ deliverAt: new Date(1_800_000_000_000) }).due).toEqual({ at: 1_800_000_000_000 });
    for (const options of [{ delay: -1 }, { deliverAt: NOW + TEN_YEARS + 1 }, { delay: 5, deliverAt: 5 }]) {
      expect(() => request(options)).toThrow(InvalidArgumentError);
    }
  });

  for (const [options, text] of [
    [null, 'The publish options must be an object'],
    ['5m', 'The publish options must be an object'],
    [5000, 'The publish options must be an object'],
    [[], 'The publish options must be an object'],
    [
      { dealy: 5 },
      "There is no option 'dealy' in the publish options. Did you mean 'delay'? Known options: id, key, delay",
    ],
    [{ priority: 1 }, "no option 'priority'"],
    [{ id: '' }, 'id must be a string of 1 to 256 characters'],
    [{ id: 'x'.repeat(257) }, 'id must be a string of 1 to 256 characters'],
    [{ id: 42 }, 'id must be a string of 1 to 256 characters. Given: 42'],
    [{ id: null }, 'id must be a string'],
    [{ id: 'a\0b' }, 'id must not contain the character U+0000'],
    [{ id: '\uD83D' }, 'half a surrogate pair'],
    [{ id: 'a', key: '' }, 'key must be a string of 1 to 256 characters'],
    [{ key: 'x'.repeat(257) }, 'key must be a string of 1 to 256 characters'],
    [{ key: 'a\0' }, 'key must not contain'],
    [{ key: '\uDE00' }, 'key must not contain'],
    [{ key: null }, 'key must be a string'],
    [{ attempts: 0 }, 'attempts must be a whole number from 1 to 1000'],
    [{ attempts: 1001 }, 'attempts must be a whole number from 1 to 1000'],
    [{ attempts: 1.5 }, 'attempts must be a whole number'],
    [{ attempts: '5' }, 'attempts must be a whole number'],
    [{ attempts: null }, 'attempts must be a whole number'],
    [{ attempts: Infinity }, 'attempts must be a whole number'],
    [{ backoff: {} }, 'backoff.type must be one of'],
    [{ backoff: '1s' }, 'backoff must be an object'],
    [{ backoff: null }, 'backoff must be an object'],
    [{ backoff: 0 }, 'backoff must be an object'],
    [{ backoff: () => 5 }, 'a function cannot be stored'],
    [{ backoff: { type: 'fixed', delay: -1 } }, 'backoff.delay must be'],
    [{ backoff: { type: 'steps', delays: [1, -1] } }, 'backoff.delays[1] must be'],
    [{ timeout: 0 }, 'timeout must be between 1 ms'],
    [{ timeout: NaN }, 'timeout must be a duration'],
    [{ timeout: null }, 'timeout must be a duration'],
    [{ timeout: '11y' }, 'timeout must be between'],
    [{ expireAfter: 0 }, 'expireAfter must be between 1 ms'],
    [{ expireAfter: 'x' }, 'expireAfter must be a duration'],
    [{ expireAfter: null }, 'expireAfter must be a duration'],
    [{ tags: null }, 'tags must be an array of at most 8 strings. Given: null'],
    [{ tags: 'a' }, 'tags must be an array of at most 8 strings'],
    [{ tags: Array.from({ length: 9 }, (_, i) => `t${i}`) }, 'tags must be an array of at most 8 strings'],
    [{ tags: ['a', ''] }, 'tags[1] must be a string of 1 to 128 characters'],
    [{ tags: ['x'.repeat(129)] }, 'tags[0] must be a string of 1 to 128 characters'],
    [{ tags: [5] }, 'tags[0] must be a string of 1 to 128 characters'],
    [{ tags: ['a\0b'] }, 'without U+0000'],
    [{ tags: ['\uD800'] }, 'half surrogate pairs'],
    [{ headers: null }, 'headers must be an object of strings'],
    [{ headers: ['a'] }, 'headers must be an object of strings'],
    [{ headers: { a: 5 } }, "headers['a'] must be a string. Given: 5"],
    [{ headers: new Map([['a', 'b']]) }, 'headers must be an object of strings'],
    [{ headers: new Headers({ a: 'b' }) }, 'headers must be an object of strings'],
    [{ onDuplicate: 'skip' }, "onDuplicate must be one of 'reject', 'ignore', 'replace', 'earliest'. Given: 'skip'"],
    [{ onDuplicate: null }, 'onDuplicate must be one of'],
    [{ onDuplicate: '' }, 'onDuplicate must be one of'],
    [{ maxWait: '1h' }, "maxWait needs onDuplicate: 'replace'"],
    [
      { maxWait: '1h', onDuplicate: 'earliest' },
      "limits for how long replacing can put a message off. Given: maxWait '1h', onDuplicate 'earliest'",
    ],
    [{ maxWait: '1h', onDuplicate: 'ignore' }, "maxWait needs onDuplicate: 'replace'"],
    [{ maxWait: '1h', onDuplicate: 'reject' }, "maxWait needs onDuplicate: 'replace'"],
    [{ maxWait: -1, onDuplicate: 'replace' }, 'maxWait must be between 0 ms and 10 years. Given: -1'],
    [{ maxWait: '11y', onDuplicate: 'replace' }, 'maxWait must be between 0 ms and 10 years'],
    [{ maxWait: null, onDuplicate: 'replace' }, 'maxWait must be a duration'],
    [{ maxWait: NaN, onDuplicate: 'replace' }, 'maxWait must be a duration'],
    [{ replicas: null }, 'replicas must be an object'],
    [{ replicas: 2 }, 'replicas must be an object'],
    [{ replicas: { min: 1, timeout: 1, max: 1 } }, "There is no option 'max' in replicas"],
    [{ replicas: { timeout: '1s' } }, 'replicas.min must be a whole number from 1 to 100. Given: undefined'],
    [{ replicas: { min: 0, timeout: '1s' } }, 'replicas.min must be a whole number from 1 to 100'],
    [{ replicas: { min: 101, timeout: '1s' } }, 'replicas.min must be a whole number from 1 to 100'],
    [{ replicas: { min: 1 } }, 'replicas.timeout must be a duration'],
    [{ replicas: { min: 1, timeout: 0 } }, 'replicas.timeout must be at least 1 ms'],
    [
      { replicas: { min: 1, timeout: 5001 } },
      'replicas.timeout must be at most publishTimeout, which is 5 seconds. Given: 5001 ms',
    ],
  ] as const) {
    it(`refuses ${shown(options)}: ${text}`, () => {
      expect(() => request(options)).toThrow(InvalidArgumentError);
      expect(() => request(options)).toThrow(text);
    });
  }

  it('asks for the replicas of the options, else for those of the connection', () => {
    expect(request().replicas).toBe(DEFAULTS.replicas);
    expect(request({ replicas: undefined }).replicas).toBe(DEFAULTS.replicas);
    expect(request({ replicas: { min: 100, timeout: '5s' } }).replicas).toEqual({ min: 100, timeout: 5000 });
  });

  it('accepts the bounds of every option', () => {
    for (const options of [
      { id: 'x', key: 'y', attempts: 1, timeout: 1, expireAfter: 1 },
      { id: 'x'.repeat(256), key: '\u{1F600}'.repeat(128), attempts: 1000, timeout: '10y', expireAfter: '10y' },
    ]) {
      expect(request(options)).toMatchObject({ id: options.id, key: options.key });
    }
  });

  it('refuses a payload that JSON cannot hold, or that is too large', () => {
    expect(() => request({}, 10n)).toThrow(SerializationError);
    expect(() => toPublishRequest({ payload: undefined }, {}, NOW, DEFAULTS)).toThrow(SerializationError);
    expect(() => request({}, 'x'.repeat(1024 * 1024))).toThrow(PayloadTooLargeError);
    expect(() => request({ headers: { a: 'x'.repeat(1024 * 1024) } })).toThrow(PayloadTooLargeError);
  });
});
