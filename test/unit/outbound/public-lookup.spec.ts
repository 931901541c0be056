import dns, { type LookupAddress } from 'node:dns';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { publicLookup } from '../../../lib/outbound/push/public-lookup.js';

vi.mock('node:dns', async (original) => {
  const module = await original<typeof dns>();
  return { ...module, default: module, lookup: vi.fn<typeof module.lookup>() };
});

type Answering = (name: string, options: object, answer: (error: Error | null, found: LookupAddress[]) => void) => void;

const lookUp = promisify(publicLookup as (...args: never[]) => void) as (
  name: string,
  options: object,
) => Promise<unknown>;
let found: LookupAddress[];

beforeEach(async () => {
  found = [];
  const { lookup } = await import('node:dns');
  vi.mocked(lookup as unknown as Answering).mockImplementation((_name, _options, answer) => answer(null, found));
});

afterEach(() => vi.restoreAllMocks());

const PUBLIC = { address: '1.1.1.1', family: 4 };

it('answers as Node does, with one address or with all', async () => {
  found = [PUBLIC, { address: '2606:4700:4700::1111', family: 6 }];
  expect(await lookUp('example.com', { all: true })).toEqual(found);
  expect(await lookUp('example.com', {})).toBe('1.1.1.1');
});

it('refuses a name of which any address is not public', async () => {
  found = [PUBLIC, { address: '10.0.0.7', family: 4 }];
  for (const options of [{}, { all: true }]) {
    await expect(lookUp('example.com', options)).rejects.toThrow(
      'example.com leads to 10.0.0.7, which is not an address of the public internet',
    );
  }
});

it('asks each time, so that a name that leads elsewhere by now is refused', async () => {
  found = [PUBLIC];
  await lookUp('example.com', {});
  found = [{ address: '169.254.169.254', family: 4 }];
  await expect(lookUp('example.com', {})).rejects.toThrow('leads to 169.254.169.254');
});

it('passes on what the look-up fails with', async () => {
  const { lookup } = await import('node:dns');
  vi.mocked(lookup as unknown as Answering).mockImplementation((_name, _options, answer) =>
    answer(new Error('ENOTFOUND'), []),
  );
  await expect(lookUp('example.com', {})).rejects.toThrow('ENOTFOUND');
});
