import { expect, it } from 'vitest';
import { StoreKeys } from '../../../lib/store/keys.js';

/** The keys and channels of a topic. */
function keysOf(prefix: string, topic: string): string[] {
  const keys = new StoreKeys(prefix);
  const partition = { topic, index: 0 };
  const known: object[] = [keys.partition(partition), keys.topic(topic)];
  return [...known.flatMap((each) => Object.values(each) as string[]), keys.answered(partition, 'caller')];
}

it('two prefixes share no key, however they and the names of topics run together', () => {
  const keys = new Set(keysOf('shop', 'eu:mail'));
  expect(keysOf('shop:eu', 'mail').filter((key) => keys.has(key))).toEqual([]);
});
