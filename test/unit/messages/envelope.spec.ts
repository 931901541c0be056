import { MESSAGE_RULES } from '../../../lib/messages/message-options.js';
import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { PayloadTooLargeError, SerializationError } from '../../../lib/errors/publishing.errors.js';
import {
  type Envelope,
  type EnvelopeFields,
  decodeEnvelope,
  encodeEnvelope,
  withPayload,
} from '../../../lib/messages/envelope.js';
import { shown } from '../../support/shown.js';
import { failureOf } from '../../support/units/wrong-options.js';

const NOW = 1_767_225_600_000;
const MIB = 1024 * 1024;

function encode(payload: unknown, fields: Partial<EnvelopeFields> = {}): string {
  return encodeEnvelope({ publishedAt: NOW, ...fields, payload });
}

describe('encodeEnvelope', () => {
  it('is undone by decodeEnvelope', () => {
    const fields = {
      headers: { 'x-trace': 'abc', empty: '', ünï: '\u{1F600}' },
      tags: ['customer:7', 'ünï \u{1F600}'],
      attempts: 7,
      backoff: { delay: 100, factor: 2, maxDelay: 5000, jitter: 0.1 },
      timeout: 30_000,
      expireAfter: 60_000,
    };
    const payload = { text: 'ünï\u0000 \u{1F600}', list: [1, null, true, { a: 'b' }] };

    expect(decodeEnvelope(encode(payload, fields))).toEqual({ payload, publishedAt: NOW, ...fields });
  });

  it('leaves out what was not set', () => {
    const decoded: Envelope = {
      payload: 'x',
      publishedAt: NOW,
      headers: {},
      tags: undefined,
      attempts: undefined,
      backoff: undefined,
      timeout: undefined,
      expireAfter: undefined,
    };

    expect(decodeEnvelope(encode('x'))).toEqual(decoded);
    expect(decodeEnvelope(encode('x', { headers: {} }))).toEqual(decoded);
    expect(encode('x', { headers: {}, attempts: undefined, backoff: undefined })).toBe(`[${NOW},"x"]`);
  });

  it('keeps each option without the others', () => {
    for (const fields of [
      { headers: { a: 'b' } },
      { tags: ['a'] },
      { attempts: 1 },
      { backoff: { delay: 1, factor: 1, maxDelay: 1, jitter: 0 } },
      { backoff: { delays: [1, 0, 315_576_000_000], jitter: 1 } },
      { timeout: 1 },
      { expireAfter: 1 },
    ]) {
      expect(decodeEnvelope(encode(null, fields))).toMatchObject(fields);
    }
  });

  it('costs at most 20 bytes over the payload for a message without options', () => {
    for (const payload of [null, 0, '', 'ünï', { orderId: 42 }, [1, 2, 3]]) {
      for (const publishedAt of [NOW, NOW + 0.999, 9_999_999_999_999]) {
        const size = Buffer.byteLength(encode(payload, { publishedAt }));
        expect(size - Buffer.byteLength(JSON.stringify(payload))).toBeLessThanOrEqual(20);
      }
    }
  });

  it('rounds the time of its publishing to the millisecond', () => {
    expect(decodeEnvelope(encode(1, { publishedAt: NOW + 0.6 })).publishedAt).toBe(NOW + 1);
  });

  for (const payload of [
    null,
    0,
    -1.5,
    '',
    'text',
    true,
    false,
    [],
    {},
    [[]],
    '\u2028',
    '</script>',
    { a: { b: [1] } },
  ]) {
    it(`keeps the payload ${shown(payload)}`, () => {
      expect(decodeEnvelope(encode(payload)).payload).toEqual(payload);
    });
  }

  it('writes payloads as JSON does', () => {
    const date = new Date(NOW);

    expect(decodeEnvelope(encode({ date, gone: undefined })).payload).toEqual({ date: date.toISOString() });
    expect(decodeEnvelope(encode({ toJSON: () => 'its own way' })).payload).toBe('its own way');
  });

  it('does not let a payload reach into the options', () => {
    const payload = '"],[1,2],{"a":1';

    expect(decodeEnvelope(encode(payload, { attempts: 3 }))).toMatchObject({ payload, attempts: 3 });
  });

  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  for (const [what, payload, text] of [
    ['a cycle', cycle, /payload\.self .*cycle/],
    ['a BigInt', { amount: 10n }, /payload\.amount is a BigInt/],
    ['undefined', undefined, /undefined.*Publish null/],
    ['a function', () => {}, /Publish null/],
    ['a symbol', Symbol('x'), /Publish null/],
    ['what throws while it is written', { toJSON: () => JSON.parse('{') as unknown }, /cannot be written as JSON/],
  ] as const) {
    it(`refuses ${what}, in one line`, () => {
      expect(() => encode(payload)).toThrow(SerializationError);
      expect(() => encode(payload)).toThrow(text);
      expect(() => encode(payload)).toThrow(/^[^\n]*$/);
    });
  }

  it('refuses a payload that throws something other than an error while it is written', () => {
    const payload = {
      toJSON: () => {
        // eslint-disable-next-line no-throw-literal, typescript/only-throw-error
        throw 'just a text';
      },
    };

    expect(() => encode(payload)).toThrow(SerializationError);
  });

  describe('the limit of 1 MiB', () => {
    it('is exact for plain text: quotes count, the envelope does not', () => {
      const largest = 'x'.repeat(MIB - 2);

      expect(encode(largest)).toHaveLength(MIB + `[${NOW},]`.length);
      expect(() => encode(`${largest}x`)).toThrow(PayloadTooLargeError);
    });

    for (const [character, bytes] of [
      ['é', 2],
      ['日', 3],
      ['\u{1F600}', 4],
    ] as const) {
      it(`is exact for characters of ${bytes} bytes`, () => {
        const count = Math.floor((MIB - 2) / bytes);
        const largest = character.repeat(count) + 'x'.repeat(MIB - 2 - count * bytes);

        expect(Buffer.byteLength(JSON.stringify(largest))).toBe(MIB);
        expect(decodeEnvelope(encode(largest)).payload).toBe(largest);
        expect(() => encode(`${largest}x`)).toThrow(PayloadTooLargeError);
      });
    }

    it('counts what JSON makes of a character', () => {
      const largest = '"'.repeat(MIB / 2 - 1);

      expect(() => encode(largest)).not.toThrow();
      expect(() => encode(`${largest}"`)).toThrow(PayloadTooLargeError);
    });

    it('holds for payload and headers together', () => {
      const headers = { h: 'y'.repeat(1000) };
      const headerBytes = Buffer.byteLength(JSON.stringify(headers));
      const largest = 'x'.repeat(MIB - 2 - headerBytes);

      expect(() => encode(largest, { headers })).not.toThrow();
      expect(() => encode(`${largest}x`, { headers })).toThrow(PayloadTooLargeError);
      expect(() => encode('x', { headers: { h: '日'.repeat(MIB / 3) } })).toThrow(PayloadTooLargeError);
    });

    it('is told with both sizes and a way out', () => {
      const error = failureOf(() => encode('x'.repeat(MIB)));

      expect(error).toBeInstanceOf(PayloadTooLargeError);
      expect(error).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', size: MIB + 2, limit: MIB });
      expect(error.message).toContain(`${MIB + 2} bytes, ${MIB} are allowed`);
      expect(error.message).toContain('reference');
    });
  });
});

describe('decodeEnvelope', () => {
  for (const [what, text] of [
    ['no JSON', '{'],
    ['an empty text', ''],
    ['an object', '{"payload":1}'],
    ['null', 'null'],
    ['a number', '5'],
    ['an array without a payload', '[1]'],
    ['an empty array', '[]'],
    ['an array without a time', '["x",1]'],
    ['what is cut off', `[${NOW},"abc`],
  ] as const) {
    it(`refuses ${what}`, () => {
      expect(() => decodeEnvelope(text)).toThrow(SerializationError);
    });
  }

  for (const [what, options] of [
    ['that are a number', '5'],
    ['that are a list', '[]'],
    ['that are a text', '"x"'],
    ['with headers that are a list', '{"h":["a"]}'],
    ['with a header that is a number', '{"h":{"a":1}}'],
    ['with headers that are null', '{"h":null}'],
    ['with tags that are a text', '{"g":"a"}'],
    ['with tags that are null', '{"g":null}'],
    ['with a tag that is a number', '{"g":["a",5]}'],
    ['with a tag that is empty', '{"g":[""]}'],
    ['with a tag that contains U+0000', '{"g":["a\\u0000b"]}'],
    ['with nine tags', '{"g":["1","2","3","4","5","6","7","8","9"]}'],
    ['without an attempt', '{"a":0}'],
    ['with a part of an attempt', '{"a":1.5}'],
    ['with too many attempts', '{"a":1001}'],
    ['with attempts without end', '{"a":1e999}'],
    ['with attempts that are a text', '{"a":"3"}'],
    ['with a backoff that is a number', '{"b":5}'],
    ['with a backoff that is null', '{"b":null}'],
    ['with a backoff that is an object', '{"b":{"delay":1}}'],
    ['with half a backoff', '{"b":[1000,2]}'],
    ['with more than a backoff', '{"b":[1000,2,5000,0,0]}'],
    ['with a backoff of no steps', '{"b":[[],0]}'],
    ['with a backoff of too many steps', `{"b":[[${Array.from({ length: 101 }, () => 1).join()}],0]}`],
    ['with a backoff in steps of texts', '{"b":[["1"],0]}'],
    ['with a backoff of steps in the past', '{"b":[[1,-1],0]}'],
    ['with a backoff in steps beyond all times', '{"b":[[1,1e300],0]}'],
    ['with a backoff in steps of no jitter', '{"b":[[1]]}'],
    ['with a backoff in steps of more jitter than its waits', '{"b":[[1],2]}'],
    ['with a backoff of texts', '{"b":["1","1","1","0"]}'],
    ['with a backoff in the past', '{"b":[-1,1,1,0]}'],
    ['with a backoff that shrinks', '{"b":[1,0.5,1,0]}'],
    ['with a backoff whose longest wait is shorter than its first', '{"b":[10,1,5,0]}'],
    ['with a backoff beyond all times', '{"b":[1e300,1,1e300,0]}'],
    ['with a backoff of more jitter than its wait', '{"b":[1,1,1,2]}'],
    ['without a timeout', '{"t":0}'],
    ['with a timeout in the past', '{"t":-5}'],
    ['with a timeout without end', '{"t":1e999}'],
    ['with a timeout that is null', '{"t":null}'],
    ['with an expiry that is a text', '{"e":"1h"}'],
    ['with an expiry beyond all times', '{"e":1e300}'],
  ] as const) {
    it(`refuses options ${what}`, () => {
      expect(() => decodeEnvelope(`[${NOW},"payload",${options}]`)).toThrow(SerializationError);
      expect(() => withPayload(`[${NOW},"payload",${options}]`, { payload: 1 })).toThrow(SerializationError);
    });
  }

  it('refuses what is less than an envelope, and times that are none', () => {
    for (const text of [`[${NOW}]`, '[-1,1]', '[1e300,1]', '[null,1]']) {
      expect(() => decodeEnvelope(text)).toThrow(SerializationError);
    }
  });

  it('reads what a later version has put behind, and keeps it', () => {
    const later = `[${NOW},1,{"a":3},{"new":true}]`;
    expect(decodeEnvelope(later)).toMatchObject({ payload: 1, attempts: 3 });
    expect(withPayload(later, { payload: 2 })).toBe(`[${NOW},2,{"a":3},{"new":true}]`);
  });

  it('says which option is damaged, and what it must be', () => {
    expect(() => decodeEnvelope(`[${NOW},1,{"a":"3"}]`)).toThrow(
      "The stored message has the option 'a' '3', but it must be a whole number from 1 to 1000.",
    );
  });

  it('takes options that it does not know, and none that are null', () => {
    expect(decodeEnvelope(`[${NOW},1,{"z":[],"a":2}]`)).toMatchObject({ payload: 1, attempts: 2 });
    expect(decodeEnvelope(`[${NOW},1,null]`)).toMatchObject({ payload: 1, attempts: undefined });
    expect(withPayload(`[${NOW},1,{"z":[],"a":2}]`, { payload: 'new' })).toBe(`[${NOW},"new",{"z":[],"a":2}]`);
  });

  it('is short about what it refuses', () => {
    expect(() => decodeEnvelope('x'.repeat(100_000))).toThrow(/^.{1,300}$/);
  });
});

function assertHeaders(headers: unknown): void {
  MESSAGE_RULES.headers('headers', headers);
}

describe('the rule of headers', () => {
  it('accepts an object of strings', () => {
    for (const headers of [{}, { a: 'b' }, { 'x-y': '', ünï: '\u{1F600}' }]) {
      expect(() => assertHeaders(headers)).not.toThrow();
    }
  });

  for (const wrong of [null, 'a: b', 5, true, [], ['a'], () => {}]) {
    it(`refuses ${shown(wrong)}`, () => {
      expect(() => assertHeaders(wrong)).toThrow(InvalidArgumentError);
      expect(() => assertHeaders(wrong)).toThrow('headers must be an object of strings');
    });
  }

  for (const wrong of [5, null, undefined, true, ['b'], {}]) {
    it(`refuses a header that is ${shown(wrong)}, and names it`, () => {
      expect(() => assertHeaders({ good: 'a', 'x-bad': wrong })).toThrow(InvalidArgumentError);
      expect(() => assertHeaders({ good: 'a', 'x-bad': wrong })).toThrow("headers['x-bad'] must be a string");
    });
  }
});
