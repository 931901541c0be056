import { isUtf8 } from 'node:buffer';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { messageRef, readJson, readRedis, toHeaders, toNumber, toTime } from '../../../lib/cli/given-values.js';
import type { Terminal } from '../../../lib/cli/terminal.js';
import { CORPUS, saysWhere } from '../../support/json-corpus/corpus.js';
import { selectionOf } from '../../../lib/cli/filters.js';

describe('a payload', () => {
  it('is read from what is given, from a file and from the standard input, and refused by its path', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'payload-')), 'payload.json');
    for (const row of CORPUS.filter(({ content }) => content.length < 20_000)) {
      await writeFile(file, row.content);
      const stdin = Readable.from([row.content]);
      const isText = isUtf8(row.content);
      for (const given of [...(isText ? [row.content.toString()] : []), `@${file}`, '-']) {
        const read = readJson({ stdin } as unknown as Terminal, 'The payload', given, 'payload').then(
          (value) => row.kept && isDeepStrictEqual(value, JSON.parse(row.content.toString())),
          (error: Error) => !row.kept && saysWhere(error.message, row),
        );
        expect([given, await read]).toEqual([given, true]);
      }
    }
  });
});

describe('a time', () => {
  it.each([
    ['1767268800000', 1_767_268_800_000],
    ['2026-01-01T12:00:00Z', 1_767_268_800_000],
    ['2026-01-01T12:00:00.5Z', 1_767_268_800_500],
    ['2026-01-01T13:00+01:00', 1_767_268_800_000],
    ['2026-01-01T07:00:00-0500', 1_767_268_800_000],
  ])('is read: %s', (text, time) => {
    expect(toTime(text)).toBe(time);
  });

  it.each([
    '',
    'now',
    '0',
    '2026',
    '1767268800',
    '2026-02-30T12:00:00Z',
    '2026-01-01',
    '2026-01-01T12:00:00',
    '2026-13-01T12:00:00Z',
    '-1',
    '1e3',
    '01/02/2026',
  ])('is refused if it may mean several, or none: %j', (text) => {
    expect(() => toTime(text)).toThrow('with its zone');
  });
});

it.each(['', ' ', '1x', 'NaN', 'Infinity'])('%j is no number', (text) => {
  expect(() => toNumber(text)).toThrow('It is no number.');
  expect(toNumber('-1.5')).toBe(-1.5);
});

it('headers add up, and the last one of a name counts', () => {
  const first = toHeaders('a=1', undefined);
  expect(toHeaders('a=2=3', toHeaders('b=', first))).toEqual({ a: '2=3', b: '' });
  expect(first).toEqual({ a: '1' });
  for (const wrong of ['a', '=1', '']) expect(() => toHeaders(wrong, undefined)).toThrow('name=value');
});

it('a message has a key if one is given', () => {
  expect([messageRef('a', undefined), messageRef('a', '')]).toEqual(['a', { id: 'a', key: '' }]);
});

describe('which Redis', () => {
  it.each(['redis://localhost:6379', '/run/redis.sock', 'localhost'])(
    'is taken as it is, to be checked later: %s',
    (text) => {
      expect(readRedis(text)).toBe(text);
    },
  );

  it('is read from JSON', () => {
    expect(readRedis('{"nodes":[{"host":"a","port":7000}]}')).toEqual({ nodes: [{ host: 'a', port: 7000 }] });
  });

  it('is not told in an error', () => {
    expect(() => readRedis('{"password":"secret",}')).toThrow(/^(?!.*secret).*begins as JSON/s);
    expect(() => readRedis('@/no/such/file')).toThrow('ENOENT');
  });
});

describe('which dead letters', () => {
  it.each([
    [{ id: 'a' }, 'a'],
    [
      { id: 'a', key: 'k' },
      { id: 'a', key: 'k' },
    ],
    [{ all: true }, { all: true }],
    [{ key: 'k' }, { key: 'k' }],
    [
      { reason: 'failed', since: 1, until: undefined },
      { reason: 'failed', since: 1 },
    ],
  ] as const)('%j', (given, selection) => {
    expect(selectionOf(given)).toEqual(selection);
  });

  it.each([
    {},
    { until: undefined },
    { all: true, key: 'k' },
    { id: 'a', all: true },
    { id: 'a', reason: 'failed' },
    { id: 'a', key: 'k', since: 1 },
  ] as const)('is not clear from %j', (given) => {
    expect(() => selectionOf(given)).toThrow(/--id|--all/);
  });
});
