import { describe, expect, it } from 'vitest';
import { assertInteger, assertOneOf, assertOptions } from '../../../lib/checks/validate.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { shown } from '../../support/shown.js';

describe('assertOptions', () => {
  const allowed = ['a', 'b'];

  it('accepts an object with known options, or none', () => {
    for (const options of [{}, { a: 1 }, { a: undefined, b: null }, Object.freeze({ b: 2 })]) {
      expect(() => assertOptions('The options', options, allowed)).not.toThrow();
    }
  });

  it('refuses an unknown option, and lists the known ones', () => {
    expect(() => assertOptions('The options', { a: 1, c: 2 }, allowed)).toThrow(InvalidArgumentError);
    expect(() => assertOptions('The options', { a: 1, c: 2 }, allowed)).toThrow(
      "There is no option 'c' in the options. Known options: a, b.",
    );
  });

  it.each([
    [{ retries: 1 }, ['id', 'attempts'], "There is no option 'retries' in the options. Here it is 'attempts'."],
    [{ jobId: 1 }, ['id', 'attempts'], "Here it is 'id'."],
    [{ duration: 1 }, ['max', 'per'], "Here it is 'per'."],
    [{ duration: 1 }, ['max'], "'duration' in the options. Known options"],
    [{ priority: 1 }, ['id'], 'Messages have no priority: give a handler several topics'],
    [{ attemps: 1 }, ['attempts'], "Did you mean 'attempts'?"],
  ])('knows what other queues call it: %j', (given, known, says) => {
    expect(() => assertOptions('The options', given, known)).toThrow(says);
  });

  it("refuses names that every object has, such as 'constructor' and '__proto__' if they are given", () => {
    expect(() => assertOptions('The options', { constructor: 1 }, allowed)).toThrow("no option 'constructor'");
    expect(() => assertOptions('The options', JSON.parse('{"__proto__":1}'), allowed)).toThrow("no option '__proto__'");
  });

  for (const wrong of [undefined, null, 'a', 5, true, ['a'], () => {}]) {
    it(`refuses ${shown(wrong)}`, () => {
      expect(() => assertOptions('The options', wrong, allowed)).toThrow(InvalidArgumentError);
      expect(() => assertOptions('The options', wrong, allowed)).toThrow('The options must be an object. Given: ');
    });
  }
});

describe('assertInteger', () => {
  const bounds = { min: 1, max: 10 };

  it('accepts whole numbers within its bounds', () => {
    for (const value of [1, 5, 10]) expect(() => assertInteger('count', value, bounds)).not.toThrow();
  });

  for (const wrong of [0, 11, -1, 1.5, NaN, Infinity, '5', 5n, null, undefined, [5], {}]) {
    it(`refuses ${shown(wrong)}`, () => {
      expect(() => assertInteger('count', wrong, bounds)).toThrow(InvalidArgumentError);
      expect(() => assertInteger('count', wrong, bounds)).toThrow('count must be a whole number from 1 to 10. Given: ');
    });
  }
});

describe('assertOneOf', () => {
  it('accepts each of the values', () => {
    for (const value of ['x', 'y']) expect(() => assertOneOf('mode', value, ['x', 'y'])).not.toThrow();
  });

  for (const wrong of ['X', '', 'z', undefined, null, 0, ['x']]) {
    it(`refuses ${shown(wrong)}`, () => {
      expect(() => assertOneOf('mode', wrong, ['x', 'y'])).toThrow(InvalidArgumentError);
      expect(() => assertOneOf('mode', wrong, ['x', 'y'])).toThrow("mode must be one of 'x', 'y'. Given: ");
    });
  }
});
