import { describe, expect, it } from 'vitest';
import type { MessageFilter } from '../../../lib/admin/message-filter.js';
import type { SearchOptions, SearchPage } from '../../../lib/admin/search.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { AdminBed, NOW, TOPIC } from '../../support/units/admin-bed.js';

const ALL = { all: true } as const;
const SCHEDULED = { states: ['scheduled'] } as const;

/** All that a search finds, call by call. */
async function searched(bed: AdminBed, filter: MessageFilter, options: SearchOptions = {}): Promise<SearchPage[]> {
  const found: SearchPage[] = [];
  let cursor: string | undefined;
  do {
    const page = await bed.admin.search(TOPIC, filter, { ...options, cursor });
    found.push(page);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

const of = (field: unknown): MessageFilter => ({ field }) as MessageFilter;
const idsOf = (found: readonly SearchPage[]): string[] => found.flatMap(({ messages }) => messages.map(({ id }) => id));

describe('search', () => {
  it.each<[string, MessageFilter, string[]]>([
    ['tag', { tag: 'red' }, ['a', 'c']],
    ['key', { key: 'k' }, ['b']],
    ['text of an id', { text: 'A' }, ['a']],
    ['text of a payload', { text: 'GRÜSSE' }, ['b']],
    ['text of a payload as JSON', { text: '"id":7' }, ['c']],
    ['field', { field: { path: 'customer.id', value: '7' } }, ['c']],
    ['item of an array', { field: { path: 'items.1.done', value: true } }, ['c']],
    ['null in a field', { field: { path: 'items.0', value: null } }, ['c']],
    ['an object in a field', { field: { path: 'customer', value: '[object Object]' } }, []],
    ['a property that all objects have', { field: { path: '__proto__.__proto__', value: null } }, []],
    ['due times', { from: NOW + 1000, to: new Date(NOW + 3000) }, ['c', 'b']],
    ['a tag and due times', { tag: 'red', to: NOW + 3000 }, ['c']],
    ['all that is given', { tag: 'red', text: 'customer' }, ['c']],
    ['all', ALL, ['c', 'b', 'a']],
  ])('finds messages by %s', async (_what, filter, ids) => {
    const bed = await AdminBed.open();
    await bed.publish('a', { due: 3000, tags: ['red'], payload: 1 });
    await bed.publish('b', { due: 2000, key: 'k', payload: 'Grüsse' });
    const payload = { customer: { id: 7 }, items: [null, { done: true }] };
    await bed.publish('c', { due: 1000, tags: ['red', 'big'], payload });

    expect(idsOf(await searched(bed, filter))).toEqual(ids);
  });

  it('looks for text in the errors of dead letters, and at what cannot be decoded as it is stored', async () => {
    const bed = await AdminBed.open();
    await bed.publish('dead', { due: 0, payload: {} });
    await bed.deliver('dead', 'dead');
    await bed.publish('damaged', { envelope: 'Boom!' });
    await bed.publish('other', { payload: {} });

    expect(idsOf(await searched(bed, { text: 'BOOM' }))).toEqual(['damaged', 'dead']);
    for (const text of ['e_7', 'error']) expect(idsOf(await searched(bed, { text }))).toEqual(['dead']);
    expect(idsOf(await searched(bed, { text: 'boom', field: { path: 'a', value: 1 } }))).toEqual([]);
  });

  it('takes what JSON cannot hold as it is stored', async () => {
    const serializer = { serialize: (value: unknown) => value, deserialize: () => ({ big: 1n }) };
    const bed = await AdminBed.open(4, undefined, { serializerOf: () => serializer });
    await bed.publish('a', { envelope: '[1,"1n",{"s":1}]' });

    expect(idsOf(await searched(bed, { text: '1n' }))).toEqual(['a']);
    expect(idsOf(await searched(bed, { field: { path: 'big', value: 1 } }))).toEqual(['a']);
  });

  it.each<[string, SearchOptions]>([
    ['one message at a time', { limit: 1 }],
    ['one look at a time', { maxRead: 1 }],
    ['a few', { limit: 7, maxRead: 13 }],
    ['in states that are named twice', { states: ['scheduled', 'in-flight', 'scheduled', 'dead'] }],
  ])('looks at each message once, over all states: %s', async (_what, options) => {
    const bed = await AdminBed.open(3);
    for (const id of ['dead', 'running']) await bed.publish(id, { due: 0, key: id });
    await bed.deliver('dead', 'dead');
    await bed.deliver('running', 'in-flight');
    const waiting = Array.from({ length: 30 }, (_, i) => `m${i}`);
    for (const [i, id] of waiting.entries()) await bed.publish(id, { due: 1000 + i, key: `k${i}` });

    const found = await searched(bed, ALL, options);
    expect(idsOf(found)).toEqual([...waiting, 'running', 'dead']);
    expect(found.reduce((sum, { read }) => sum + read, 0)).toBe(32);
    for (const { read, messages } of found) {
      expect(read).toBeLessThanOrEqual(options.maxRead ?? 32);
      expect(messages.length).toBeLessThanOrEqual(options.limit ?? 32);
    }
  });

  it('lists what waits behind others, or for the limits of its key', async () => {
    const ordered = await AdminBed.open(1, 'continue');
    for (const [id, due, key] of [
      ['b', 1000, 'k'],
      ['a', 2000, 'k'],
      ['d', 3000, 'other'],
      ['c', 4000, 'k'],
    ] as const) {
      await ordered.publish(id, { due, key, tags: ['red'] });
    }
    expect(idsOf(await searched(ordered, ALL, { limit: 1 }))).toEqual(['b', 'a', 'd', 'c']);
    expect(idsOf(await searched(ordered, { tag: 'red' }, { limit: 1 }))).toEqual(['a', 'b', 'c', 'd']);

    const limited = await AdminBed.open(1);
    await limited.embedded.fleet.setTerms(TOPIC, { limits: { inFlight: { key: 1 } } });
    for (const id of ['a', 'b']) await limited.publish(id, { due: 0, key: 'k' });
    await limited.deliver('k', 'in-flight', { keyLimits: { inFlight: 1 } });
    expect(await limited.admin.stats(TOPIC)).toMatchObject({ blocked: 1 });
    expect((await limited.admin.peek(TOPIC, 'scheduled')).messages).toMatchObject([{ id: 'b' }]);
    expect(idsOf(await searched(limited, ALL))).toEqual(['b', 'a']);
  });

  it('reads the partition of the key, what carries the tag, and what is due then', async () => {
    const bed = await AdminBed.open(8);
    for (let i = 0; i < 500; i++)
      await bed.publish(`m${i}`, { due: 500 - i, ...(i % 100 === 0 && { tags: ['rare'] }) });
    const readWith = async (filter: MessageFilter): Promise<[number, number, number]> => {
      bed.calls.splice(0);
      const { read, messages } = await bed.admin.search(TOPIC, filter, SCHEDULED);
      return [read, bed.count('peek'), messages.length];
    };

    const [read, ...calls] = await readWith({ key: 'm7' });
    expect([read < 120, ...calls]).toEqual([true, 1, 1]);
    expect(await readWith({ tag: 'rare' })).toEqual([5, 8, 5]);
    expect(idsOf(await searched(bed, { tag: 'rare' }))).toEqual(['m0', 'm100', 'm200', 'm300', 'm400']);
    // One more, to see that it is due too late.
    expect(await readWith({ from: NOW + 100, to: NOW + 110 })).toEqual([11, 8, 10]);
  });

  it('knows of finished messages when they were due', async () => {
    const bed = await AdminBed.open(1);
    await bed.deliver('a', 'in-flight', { finished: { maxAge: 10_000 } });
    await bed.publish('long before', { due: 2000 });
    await bed.admin.cancel(TOPIC, ALL);
    for (const [id, due] of Object.entries({ early: 1000, later: 3000, last: 5000 })) await bed.publish(id, { due });
    await bed.clock.advance(4000);
    await bed.admin.cancel(TOPIC, ALL);
    const found = await searched(bed, { from: NOW + 2000, to: NOW + 3500 }, { states: ['finished'] });
    expect(idsOf(found).toSorted()).toEqual(['later', 'long before']);
  });

  it('looks at 5,000 messages in a call', async () => {
    const bed = await AdminBed.open(1);
    await bed.publish('a');
    const [first] = (
      await bed.embedded.messages.peek(bed.partitionOf('a'), { state: 'scheduled', limit: 1, maxBytes: 1000 })
    ).messages;
    const many = { messages: Array.from({ length: 200 }, () => first), next: { at: NOW, storedId: 'a' } };
    bed.around = async (call) => (call.operation === 'peek' ? many : call.run());
    expect((await bed.admin.search(TOPIC, { text: 'other' })).read).toBe(5000);
  });

  it('goes on later where ten calls in a row have brought nothing', async () => {
    const bed = await AdminBed.open(1);
    await bed.publish('a');
    bed.around = async (call) => {
      const calls = bed.count('peek');
      return call.operation === 'peek' && calls <= 25
        ? { messages: [], next: { at: calls, storedId: 'gone' } }
        : call.run();
    };
    const found = await searched(bed, ALL, SCHEDULED);
    expect(found.map(({ messages }) => messages.length)).toEqual([0, 0, 1]);
    const afters = bed.calls.flatMap(({ operation, args }) => (operation === 'peek' ? [args[1].after?.at ?? 0] : []));
    expect(afters).toEqual(Array.from({ length: 26 }, (_, i) => i));
  });

  it('ends with what was found by then', async () => {
    const bed = await AdminBed.open(1);
    for (let i = 0; i < 450; i++) await bed.publish(`m${i}`);
    const stop = new AbortController();
    bed.around = async ({ operation, run }) => {
      if (operation === 'peek' && bed.count('peek') === 2) stop.abort();
      return run();
    };
    const options = { ...SCHEDULED, limit: 200, signal: stop.signal };
    const first = await bed.admin.search(TOPIC, { text: 'm1' }, options);
    expect([first.read > 0, first.read < 450, first.messages.length > 0]).toEqual([true, true, true]);
    const rest = await bed.admin.search(TOPIC, { text: 'm1' }, { ...SCHEDULED, limit: 200, cursor: first.cursor });
    expect([first.read + rest.read, first.messages.length + rest.messages.length]).toEqual([450, 111]);

    const none = await bed.admin.search(TOPIC, ALL, options);
    expect(none).toMatchObject({ messages: [], read: 0 });
    expect((await bed.admin.search(TOPIC, ALL, { ...SCHEDULED, cursor: none.cursor })).read).toBe(50);
  });

  it('ends a call early if what it finds is large', async () => {
    const bed = await AdminBed.open();
    for (let i = 0; i < 6; i++) await bed.publish(`m${i}`, { payload: 'x'.repeat(400_000) });
    const found = await searched(bed, { text: 'xx' }, SCHEDULED);
    expect(found.map(({ messages }) => messages.length)).toEqual([3, 3]);
  });

  it('finds nothing in a topic that was never used', async () => {
    const { admin } = await AdminBed.open();
    expect(await admin.search('unused', ALL)).toEqual({ messages: [], read: 0, cursor: undefined });
  });

  it.each<[string, MessageFilter, SearchOptions?]>([
    ['no filter', undefined as never],
    ['an empty filter', {}],
    ['a filter that says nothing', { tag: undefined, key: undefined, from: undefined }],
    ['all and another property', { all: true, tag: 'red' }],
    ['all that is not true', { all: 1 as never }],
    ['an unknown property', { tags: ['red'] } as MessageFilter],
    ['an empty text', { text: '' }],
    ['a text of 1,001 characters', { text: 'x'.repeat(1001) }],
    ['no text', { text: 5 as never }],
    ['no key', { key: '' }],
    ['no tag', { tag: '' }],
    ['a field without a value', of({ path: 'a' })],
    ['a field without a path', of({ path: '', value: 1 })],
    ['an object as the value of a field', of({ path: 'a', value: {} })],
    ['no time', { from: 'tomorrow' as never }],
    ['times in the wrong order', { from: NOW, to: NOW }],
    ['due times of dead letters', { from: NOW }, { states: ['scheduled', 'dead'] }],
    ['the tag of finished messages', { tag: 'red' }, { states: ['finished'] }],
    ['no states', ALL, { states: [] }],
    ['an unknown state', ALL, { states: ['due' as never] }],
    ['a limit of 0', ALL, { limit: 0 }],
    ['a limit of 201', ALL, { limit: 201 }],
    ['more than can be read', ALL, { maxRead: 100_001 }],
    ['no signal', ALL, { signal: {} as never }],
    ['no cursor', ALL, { cursor: 'abc' }],
    ['a cursor of another state', ALL, { states: ['dead'], cursor: 'scheduled.' }],
    ['a damaged cursor', ALL, { cursor: 'dead.abc' }],
    ['an unknown option', ALL, { state: 'dead' } as SearchOptions],
  ])('refuses %s before it asks for anything', async (_what, filter, options) => {
    const bed = await AdminBed.open();
    await expect(bed.admin.search(TOPIC, filter, options)).rejects.toThrow(InvalidArgumentError);
    expect(bed.calls).toEqual([]);
  });
});
