import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { assertId } from '../../../lib/messages/message-ref.js';
import { shown } from '../../support/shown.js';

describe('assertId', () => {
  for (const id of ['a', 'x'.repeat(256), ' ', '{a}', 'a:b', 'ünï', '\u{1F600}', '日本語', '\u0001', '\n', '0']) {
    it(`accepts ${shown(id)}`, () => {
      expect(() => assertId('id', id)).not.toThrow();
    });
  }

  for (const [what, wrong, text] of [
    ['an empty text', '', 'must be a string of 1 to 256 characters'],
    ['257 characters', 'x'.repeat(257), 'must be a string of 1 to 256 characters'],
    ['a number', 42, 'must be a string of 1 to 256 characters'],
    ['null', null, 'must be a string'],
    ['undefined', undefined, 'must be a string'],
    ['an object', {}, 'must be a string'],
    ['an array', ['a'], 'must be a string'],
    ['the character U+0000', 'a\0b', 'U+0000'],
    ['only the character U+0000', '\0', 'U+0000'],
    ['half a surrogate pair', 'a\uD83D', 'half a surrogate pair'],
    ['the other half', '\uDE00a', 'half a surrogate pair'],
    ['a pair the wrong way round', '\uDE00\uD83D', 'half a surrogate pair'],
  ] as const) {
    it(`refuses ${what}, for an id and for a key`, () => {
      for (const name of ['id', 'key'] as const) {
        expect(() => assertId(name, wrong)).toThrow(InvalidArgumentError);
        expect(() => assertId(name, wrong)).toThrow(text);
        expect(() => assertId(name, wrong)).toThrow(new RegExp(`^${name} must`));
      }
    });
  }
});
