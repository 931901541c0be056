import { InvalidArgumentError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type Schema, SchemaCheck, ref } from '../../../lib/gateway/schema.js';

const named: Record<string, Schema> = {
  Small: { type: 'integer', minimum: 1, maximum: 3 },
  One: {
    type: 'object',
    properties: { name: { type: 'string', minLength: 1 } },
    required: ['name'],
    additionalProperties: false,
  },
  Many: {
    type: 'object',
    properties: { all: { type: 'array', items: ref('One'), minItems: 1, maxItems: 2 } },
    required: ['all'],
    additionalProperties: false,
  },
};
const check = new SchemaCheck(named);

function faultOf(schema: Schema, value: unknown): string | undefined {
  try {
    check.check('The body', schema, value);
    return undefined;
  } catch (error) {
    return error instanceof InvalidArgumentError ? error.message : String(error);
  }
}

describe('SchemaCheck', () => {
  it.each<[Schema, unknown]>([
    [ref('Small'), 3],
    [{ oneOf: [{ type: 'number' }, { type: 'string' }] }, 'a'],
    [{ oneOf: [ref('Many'), ref('One')] }, { name: 'a' }],
    [{ oneOf: [ref('Many'), ref('One')] }, { all: [{ name: 'a' }] }],
    [{ type: 'object', additionalProperties: { type: 'string' } }, { any: 'text' }],
    [{}, { any: ['thing'] }],
    [{ type: ['string', 'null'] }, null],
  ])('takes what fits: %j %j', (schema, value) => {
    expect(faultOf(schema, value)).toBeUndefined();
  });

  it.each<[Schema, unknown, string]>([
    [ref('Small'), 4, 'The body must be from 1 to 3. Given: 4.'],
    [ref('Small'), 1.5, 'The body must be a whole number. Given: 1.5.'],
    [ref('One'), undefined, 'The body must be an object. Given: undefined.'],
    [ref('One'), {}, 'name is missing.'],
    [ref('One'), { name: '' }, "name must have at least 1 characters. Given: ''."],
    [
      ref('One'),
      { name: 'a', nam: 1 },
      "There is no property 'nam' in the body. Did you mean 'name'? Known properties: name.",
    ],
    [
      ref('One'),
      JSON.parse('{"name":"a","__proto__":1}'),
      "There is no property '__proto__' in the body. Known properties: name.",
    ],
    [ref('Many'), { all: [] }, 'all must have 1 to 2 items. Given: 0.'],
    [ref('Many'), { all: [{ name: 'a' }, { name: 1 }] }, 'all[1].name must be a string. Given: 1.'],
    [{ oneOf: [ref('Many'), ref('One')] }, { all: 1 }, 'all must be an array. Given: 1.'],
    [{ oneOf: [ref('Many'), ref('One')] }, {}, 'name is missing.'],
    [{ oneOf: [{ type: 'number' }, { type: 'string' }] }, true, 'The body must be a number or a string. Given: true.'],
    [{ type: 'string', enum: ['a', 'b'] }, 'c', "The body must be one of 'a', 'b'. Given: 'c'."],
    [{ type: 'object', additionalProperties: { type: 'string' } }, { 'a b': 1 }, "'a b' must be a string. Given: 1."],
  ])('says what is wrong: %j %j', (schema, value, fault) => {
    expect(faultOf(schema, value)).toBe(fault);
  });
});
