import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { type TopicRef, assertName, checkedTopicName, schemaOf, topic } from '../../../lib/messages/topic.js';
import { shown } from '../../support/shown.js';

const GOOD = ['a', 'order.timeout', 'A-Z_0:9', '0', '.', '-', 'x'.repeat(128)];
const WRONG: readonly unknown[] = [
  '',
  'x'.repeat(129),
  'with space',
  ' lead',
  'line\n',
  '\n',
  'tab\t',
  '{tag}',
  'a}',
  'a{b',
  'slash/',
  'back\\slash',
  'ünï',
  'order*',
  'a\0b',
  '\u{1F600}',
  undefined,
  null,
  5,
  true,
  [],
  ['a'],
];

describe('the name of a topic', () => {
  for (const name of GOOD) {
    it(`may be ${name.slice(0, 20)}`, () => {
      expect(topic(name).name).toBe(name);
      expect(checkedTopicName(name)).toBe(name);
      expect(checkedTopicName(topic(name))).toBe(name);
      expect(() => assertName('prefix', name)).not.toThrow();
    });
  }

  for (const name of WRONG) {
    it(`may not be ${shown(name)}`, () => {
      expect(() => topic(name as string)).toThrow(InvalidArgumentError);
      expect(() => topic(name as string)).toThrow('A topic must be 1 to 128 characters of A-Z a-z 0-9 . _ : -');
      expect(() => checkedTopicName(name as TopicRef)).toThrow(InvalidArgumentError);
      expect(() => assertName('prefix', name)).toThrow('A prefix must be 1 to 128 characters');
    });
  }

  it('is checked of whatever is taken for a topic', () => {
    for (const ref of [{}, { name: 'a b' }, { name: 5 }]) {
      expect(() => checkedTopicName(ref as TopicRef)).toThrow(InvalidArgumentError);
    }
  });

  it('cannot be changed', () => {
    expect(Object.isFrozen(topic('a'))).toBe(true);
    expect(Object.isFrozen(topic('a', { schema: z.string() }))).toBe(true);
  });
});

describe('the schema of a topic', () => {
  for (const [library, schema] of Object.entries({ zod: z.string(), valibot: v.string(), arktype: type('string') })) {
    it(`may be of ${library}`, () => {
      expect(topic('a', { schema })).toEqual({ name: 'a', schema });
      expect(schemaOf(topic('a', { schema }))).toBe(schema);
    });
  }

  it('need not be', () => {
    for (const ref of ['a', topic('a'), topic('a', {})]) expect(schemaOf(ref)).toBeUndefined();
  });

  for (const schema of [undefined, null, 5, 'string', {}, { '~standard': {} }, { '~standard': null }, () => true]) {
    it(`may not be ${shown(schema)}`, () => {
      const options = { schema } as unknown as Parameters<typeof topic>[1];

      expect(() => topic('a', options)).toThrow(InvalidArgumentError);
      expect(() => topic('a', options)).toThrow("The schema of topic 'a' must be a Standard Schema");
    });
  }

  for (const options of [null, 5, z.string(), { shema: z.string() }]) {
    it(`is not looked for in ${shown(options)}`, () => {
      expect(() => topic('a', options as unknown as Parameters<typeof topic>[1])).toThrow(InvalidArgumentError);
    });
  }
});
