import type { Driver } from '../driver.interface.js';

/** Most fields of a hash in one call. */
export const FIELDS_PER_CALL = 1000;

/** Reads the values of some fields, in their order, in bounded calls. */
export async function fieldsOf(
  driver: Driver,
  hash: string,
  fields: readonly string[],
  perCall = FIELDS_PER_CALL,
): Promise<(string | null)[]> {
  const values: (string | null)[] = [];
  for (const page of pagesOf(fields, perCall)) {
    values.push(...(await driver.call([hash], (redis) => redis.hmget(hash, ...page))));
  }
  return values;
}

/** Reads all fields that fit a pattern, in bounded calls. */
export async function scanFields(driver: Driver, hash: string, pattern: string): Promise<Map<string, string>> {
  // A scan may answer a field twice.
  const all = new Map<string, string>();
  let cursor = '0';
  do {
    const from = cursor;
    const [next, fields] = await driver.call([hash], (redis) =>
      redis.hscan(hash, from, 'MATCH', pattern, 'COUNT', FIELDS_PER_CALL),
    );
    for (let i = 0; i + 1 < fields.length; i += 2) all.set(fields[i] as string, fields[i + 1] as string);
    cursor = next;
  } while (cursor !== '0');
  return all;
}

export function pagesOf(fields: readonly string[], size: number): string[][] {
  const count = Math.ceil(fields.length / size);
  return Array.from({ length: count }, (_, i) => fields.slice(i * size, (i + 1) * size));
}
