import { describe, expect, it } from 'vitest';
import { duration, integer, listOf, objectOf, oneOf, option, orElse, text } from '../../../lib/checks/rules.js';

const check = objectOf({
  name: text(1, 5),
  count: orElse(integer(1, 9), 3),
  wait: option('How long.', duration(0)),
  kinds: option('Which.', listOf(oneOf('a', 'b'), { of: 'kinds', max: 2 })),
});

function checked(given: unknown) {
  return check('The options', given as object);
}

describe('objectOf()', () => {
  it('answers what is used of the options, and what applies if one is left out', () => {
    expect(checked({ name: 'x', wait: '1s', kinds: undefined })).toEqual({ name: 'x', count: 3, wait: 1000 });
    expect(checked({ name: 'x', count: 5, kinds: ['b'] })).toEqual({ name: 'x', count: 5, kinds: ['b'] });
  });

  it('finds options that an object has from its class, and no others', () => {
    class Options {
      readonly name = 'x';
      get wait() {
        return '2s';
      }
      close(): void {}
    }
    expect(checked(new Options())).toMatchObject({ name: 'x', wait: 2000 });
    expect(checked(Object.create({ name: 'x', size: 1 }))).toMatchObject({ name: 'x' });
  });

  it.each<[unknown, string]>([
    [[], 'The options must be an object. Given: [].'],
    [{}, 'name is missing.'],
    [{ name: '' }, "name must be a string of 1 to 5 characters. Given: ''."],
    [{ name: 'x', cuont: 1 }, "There is no option 'cuont' in the options. Did you mean 'count'? Known options: "],
    [JSON.parse('{"name":"x","__proto__":1}'), "There is no option '__proto__' in the options."],
    [{ name: 'x', count: null }, 'count must be a whole number from 1 to 9. Given: null.'],
    [{ name: 'x', kinds: 'a' }, "kinds must be a list of at most 2 kinds. Given: 'a'."],
    [{ name: 'x', kinds: ['a', 'a', 'c'] }, 'kinds must be a list of at most 2 kinds. Given: a list of 3.'],
    [{ name: 'x', kinds: ['a', 'c'] }, "kinds[1] must be one of 'a', 'b'. Given: 'c'."],
  ])('refuses %j', (given, fault) => {
    expect(() => checked(given)).toThrow(fault);
  });

  it('names places below that of the object, unless it is called by a phrase', () => {
    expect(() => check('all[2]', { name: 'x', count: 0 })).toThrow('all[2].count must be');
  });

  it('carries the schema of its rules', () => {
    expect(check.schema).toMatchObject({
      required: ['name'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 5 },
        count: { type: 'integer', minimum: 1, maximum: 9 },
        wait: { $ref: '#/components/schemas/Duration', description: 'How long.' },
        kinds: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 2 },
      },
    });
  });
});
