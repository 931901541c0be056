import { InvalidArgumentError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { checkedValue, strictObject } from '../../../lib/gateway/checked-value.js';

const One = strictObject({ name: z.string().min(1), payload: z.unknown() });
const OneOrMany = z.union([One, strictObject({ all: z.array(One).min(1) })]);
const Choice = z.union([z.number(), z.string()], { error: 'must be this or that' });

function faultOf(schema: z.ZodType, value: unknown): string | undefined {
  try {
    checkedValue('The body', schema, value);
    return undefined;
  } catch (error) {
    return error instanceof InvalidArgumentError ? error.message : String(error);
  }
}

describe('checkedValue()', () => {
  it.each<[z.ZodType, unknown]>([
    [One, { name: 'a', payload: null }],
    [OneOrMany, { name: 'a', payload: 1 }],
    [OneOrMany, { all: [{ name: 'a', payload: { __proto__: 1 } }] }],
    [Choice, 'a'],
  ])('takes what fits', (schema, value) => {
    expect(faultOf(schema, value)).toBeUndefined();
  });

  it.each<[z.ZodType, unknown, string]>([
    [One, undefined, 'The body is missing.'],
    [One, [], 'The body: expected object, received array. Given: [].'],
    [One, { name: 'a' }, 'payload is missing.'],
    [One, { name: '', payload: 1 }, "name: expected string to have >=1 characters. Given: ''."],
    [
      One,
      { name: 'a', nam: 1, payload: 1 },
      "The body: There is no property 'nam' here. Did you mean 'name'? Known properties: name, payload.",
    ],
    [
      One,
      JSON.parse('{"name":"a","payload":1,"__proto__":1}'),
      "The body: There is no property '__proto__' here. Known properties: name, payload.",
    ],
    [OneOrMany, { all: [] }, 'all: expected array to have >=1 items. Given: [].'],
    [
      OneOrMany,
      {
        all: [
          { name: 'a', payload: 1 },
          { name: 1, payload: 1 },
        ],
      },
      'all[1].name: expected string, received number. Given: 1.',
    ],
    [OneOrMany, { all: 1 }, 'all: expected array, received number. Given: 1.'],
    [OneOrMany, { payload: 1 }, 'name is missing.'],
    [Choice, true, 'The body: must be this or that. Given: true.'],
    [z.enum(['a', 'b']), 'c', `The body: expected one of "a"|"b". Given: 'c'.`],
  ])('says what is wrong with %#', (schema, value, fault) => {
    expect(faultOf(schema, value)).toBe(fault);
  });
});
