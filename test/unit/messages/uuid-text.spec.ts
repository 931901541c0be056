import * as fc from 'fast-check';
import { MAX, NIL, parse, v7 } from 'uuid';
import { describe, expect, it } from 'vitest';
import { lengthenUuid, shortenUuid, toUuidText } from '../../../lib/messages/stored-id.js';
import { shown } from '../../support/shown.js';

const SOME = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
const SOME_SHORT = shortenUuid(SOME) ?? '';

describe('a short UUID', () => {
  it('is a dot and 22 letters that need no escape in a shell, a URL or JSON', () => {
    expect(shortenUuid(NIL)).toBe(`.${'-'.repeat(22)}`);
    expect(shortenUuid(MAX)).toBe(`.${'z'.repeat(21)}k`);
    expect(SOME_SHORT).toMatch(/^\.[\w-]{22}$/);
  });

  it('is made of the same bits as base64url', () => {
    const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const inOrder = Array.from(base64url).toSorted();
    const bytes = Buffer.from(SOME.replaceAll('-', ''), 'hex').toString('base64url');

    expect(SOME_SHORT).toBe(`.${Array.from(bytes, (letter) => inOrder[base64url.indexOf(letter)]).join('')}`);
  });

  it('can be made long again, whatever its UUID', () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        expect(lengthenUuid(shortenUuid(uuid) ?? '')).toBe(uuid);
        expect(toUuidText(parse(uuid))).toEqual({ long: uuid, short: shortenUuid(uuid) });
      }),
    );
  });

  it('is in the order of its UUID', () => {
    const uuids = [...fc.sample(fc.uuid(), 500), ...Array.from({ length: 500 }, () => v7())].toSorted();
    const shorts = uuids.map((uuid) => shortenUuid(uuid) ?? '');

    expect(shorts.toSorted()).toEqual(shorts);
    expect(new Set(shorts).size).toBe(new Set(uuids).size);
  });

  for (const text of [
    '',
    SOME.toUpperCase(),
    SOME.slice(1),
    `${SOME}0`,
    SOME.replaceAll('-', ''),
    `{${SOME}}`,
    `${SOME.slice(0, 8)}0${SOME.slice(9)}`,
    `${SOME.slice(0, 13)}0${SOME.slice(14)}`,
    `${SOME.slice(0, 18)}0${SOME.slice(19)}`,
    `${SOME.slice(0, 23)}0${SOME.slice(24)}`,
    `g${SOME.slice(1)}`,
    `${SOME.slice(0, -1)}g`,
    `${SOME.slice(0, -2)}g0`,
    `${SOME.slice(0, -1)}-`,
    `${SOME.slice(0, -1)}\u0130`,
    `\uFF10${SOME.slice(1)}`,
  ]) {
    it(`is not made of ${shown(text)}`, () => {
      expect(shortenUuid(text)).toBeUndefined();
    });
  }

  it('is not made of a UUID with any other character in it', () => {
    fc.assert(
      fc.property(fc.nat(35), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }), (place, char) => {
        const text = SOME.slice(0, place) + char + SOME.slice(place + 1);
        const isUuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(text);
        expect(shortenUuid(text) !== undefined).toBe(isUuid);
      }),
    );
  });

  for (const text of [
    '',
    '.',
    SOME,
    SOME_SHORT.slice(1),
    SOME_SHORT.slice(0, -1),
    `${SOME_SHORT}-`,
    `-${SOME_SHORT.slice(1)}`,
    `.+${SOME_SHORT.slice(2)}`,
    `${SOME_SHORT.slice(0, -1)}.`,
    `${SOME_SHORT.slice(0, -2)}\u0160F`,
    `.${'z'.repeat(22)}`,
  ]) {
    it(`is not ${shown(text)}`, () => {
      expect(lengthenUuid(text)).toBeUndefined();
    });
  }
});
