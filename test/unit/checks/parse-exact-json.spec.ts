import { SerializationError } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { NoJsonError, parseExactJson } from '../../../lib/checks/parse-exact-json.js';
import { assertExactValue } from '../../../lib/checks/exact-value.js';
import { CORPUS, type CorpusRow, saysWhere } from '../../support/json-corpus/corpus.js';
import { SeededRandom } from '../../support/random.js';

function outcomeOf(row: CorpusRow): string {
  try {
    expect(parseExactJson(row.content, 'payload')).toEqual(JSON.parse(row.content.toString()));
    return 'kept';
  } catch (error) {
    if (error instanceof NoJsonError) return 'no JSON';
    if (error instanceof SerializationError && saysWhere(error.message, row)) return 'refused';
    throw error;
  }
}

it('reads what comes back equal, and refuses the rest by its path', () => {
  const wrong = CORPUS.filter((row) => outcomeOf(row) !== (row.kept ? 'kept' : row.json ? 'refused' : 'no JSON'));
  expect(wrong.map(({ content }) => content.toString())).toEqual([]);
});

it('takes for JSON what JSON.parse() takes', () => {
  const random = new SeededRandom();
  const texts = CORPUS.filter(({ kept, content }) => kept && content.length < 60).map(({ content }) =>
    content.toString(),
  );
  const letters = '{}[]":,\\u0d-+.eEtn \n\t\u0000'.split('');
  for (const text of Array.from({ length: 20 }, () => texts).flat()) {
    const at = random.integer(0, text.length);
    const changed = text.slice(0, at) + random.pick(letters) + text.slice(at + random.integer(0, 1));
    const fault = faultOf(() => parseExactJson(changed));
    // What would come back as something else is refused where it stands, whatever follows.
    if (fault instanceof SerializationError) continue;
    const isJson = faultOf(() => JSON.parse(changed)) === undefined;
    expect([changed, !(fault instanceof NoJsonError)]).toEqual([changed, isJson]);
  }
});

function faultOf(parse: () => unknown): unknown {
  try {
    parse();
    return undefined;
  } catch (error) {
    return error;
  }
}

it('skips a byte order mark', () => {
  expect([parseExactJson('\ufeff[1]'), parseExactJson(Buffer.from('\ufeff[1]'))]).toEqual([[1], [1]]);
});

it.each([
  ['{\n  "token": "secret",\n}', 'It is wrong at line 3, column 1.'],
  ['["secret"', 'It ends too early.'],
])('says where a text is no JSON, and shows nothing of it', (text, message) => {
  expect(() => parseExactJson(text)).toThrow(message);
});

it.each([
  [{ a: [{ 'b c': 2 ** 53 }] }, "a[0]['b c'] is 9007199254740992"],
  [[0, -0], '[1] is -0'],
  [{ a: Infinity }, 'a is Infinity'],
  [['\ud800'], '[0] has half of a character'],
  [JSON.parse(`${'['.repeat(600)}${']'.repeat(600)}`), 'is nested more than 512 deep'],
])('refuses of a value that another program has read what may have changed (%#)', (value, message) => {
  expect(() => assertExactValue(value)).toThrow(message);
});

it('takes a value in which nothing may have changed', () => {
  expect(() => assertExactValue({ a: [2 ** 53 - 1, 0.1, 'ü😀', null, true, { __proto__: null }] })).not.toThrow();
});
