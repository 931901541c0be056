import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { InvalidPayloadError } from '../../../lib/errors/publishing.errors.js';
import { checkPayload } from '../../../lib/messages/payload-schema.js';

/** The same in three languages: a text of digits becomes a number, and the note has a default. */
const SCHEMAS: Readonly<Record<string, StandardSchemaV1>> = {
  zod: z.object({ count: z.string().regex(/^\d+$/).transform(Number), note: z.string().default('none') }),
  valibot: v.object({
    count: v.pipe(v.string(), v.regex(/^\d+$/), v.transform(Number)),
    note: v.optional(v.string(), 'none'),
  }),
  arktype: type({ count: 'string.integer.parse', note: 'string = "none"' }),
};

/** A schema by hand. */
function schemaOf(validate: StandardSchemaV1.Props['validate']): StandardSchemaV1 {
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

describe.each(Object.entries(SCHEMAS))('checkPayload with a schema of %s', (_library, schema) => {
  it('answers its output', async () => {
    expect(await checkPayload('orders', schema, { count: '5' })).toEqual({ count: 5, note: 'none' });
  });

  it('throws what it finds wrong', async () => {
    const error: unknown = await checkPayload('orders', schema, { count: 'five', note: 5 }).catch((e: unknown) => e);

    expect(error).toBeInstanceOf(InvalidPayloadError);
    const { topic, code, issues, message } = error as InvalidPayloadError;
    expect({ topic, code }).toEqual({ topic: 'orders', code: 'INVALID_PAYLOAD' });
    expect(issues).toHaveLength(2);
    expect(message).toMatch(
      /^The payload does not fit the schema of topic 'orders': count: .+; note: .+\. The schema /,
    );
  });
});

describe('checkPayload', () => {
  it('awaits a schema that takes its time', async () => {
    const slow = schemaOf(async (value) => {
      await new Promise((resolve) => setImmediate(resolve));
      return value === 1 ? { value: 'one' } : { issues: [{ message: 'not one' }] };
    });

    expect(await checkPayload('orders', slow, 1)).toBe('one');
    await expect(checkPayload('orders', slow, 2)).rejects.toThrow("topic 'orders': not one.");
  });

  it('answers what is falsy, too', async () => {
    for (const value of [undefined, null, 0, '', false]) {
      expect(
        await checkPayload(
          'orders',
          schemaOf(() => ({ value })),
          {},
        ),
      ).toBe(value);
    }
  });

  it('takes an empty list of issues for a refusal', async () => {
    const strict = schemaOf(() => ({ issues: [] }));

    await expect(checkPayload('orders', strict, 1)).rejects.toThrow(InvalidPayloadError);
  });

  it('names three issues, and counts the others', async () => {
    const picky = schemaOf(() => ({
      issues: ['a', 'b', 'c', 'd', 'e'].map((key) => ({ message: 'no', path: [key] })),
    }));

    await expect(checkPayload('orders', picky, 1)).rejects.toThrow(
      "'orders': a: no; b: no; c: no; and 2 more. The schema",
    );
  });

  it('throws what the schema throws, now or later', async () => {
    const failure = new Error('no connection');
    const throwing = schemaOf(() => {
      throw failure;
    });
    const rejecting = schemaOf(() => Promise.reject(failure));

    await expect(checkPayload('orders', throwing, 1)).rejects.toBe(failure);
    await expect(checkPayload('orders', rejecting, 1)).rejects.toBe(failure);
  });

  for (const result of [undefined, null, { issues: 'no' }, { issues: [null] }, { issues: [{ message: 5 }] }]) {
    it(`fails if the schema answers ${JSON.stringify(result)}, without taking that for a refusal`, async () => {
      const broken = schemaOf(() => result as unknown as StandardSchemaV1.Result<unknown>);

      await expect(checkPayload('orders', broken, 1)).rejects.toThrow(TypeError);
    });
  }
});
