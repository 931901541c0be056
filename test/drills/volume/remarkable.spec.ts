import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { check } from '../../fleet/faults/history/checker.js';
import { CompactRecorder, type Kind } from './compact-records.js';
import { findRemarkable } from './remarkable.js';

/** What was recorded of one message, in the order of the records, and by which process. */
type Story = readonly (readonly [process: 'p' | 'c1' | 'c2', kind: Kind, attempt?: number])[];

const HANDLED: Story = [
  ['p', 'confirmed'],
  ['c1', 'started', 1],
  ['c1', 'finished', 1],
  ['c1', 'acked', 1],
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'delay-queue-compact-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

async function judge(stories: readonly Story[], dueIn = 0) {
  const files = new Map(['p', 'c1', 'c2'].map((name) => [name, join(folder, name)] as const));
  const recorders = new Map([...files].map(([name, path]) => [name, new CompactRecorder(path)] as const));
  for (const [number, story] of stories.entries()) {
    for (const [process, kind, attempt] of story) {
      await recorders.get(process)?.record(kind, number, attempt, Date.now() + dueIn);
      // Times are whole milliseconds.
      if (story !== HANDLED) await sleep(2);
    }
  }
  const { records, ...counts } = findRemarkable(files, stories.length);
  const history = { faults: [], final: new Map(), lease: 30_000, session: 10_000, publishTimeout: 5000, attempts: 5 };
  const rules = check({ ...history, records }).map(({ rule }) => rule);
  return { ...counts, ids: [...new Set(records.flatMap((record) => ('id' in record ? [record.id] : [])))], rules };
}

describe('what is remarkable in many records', () => {
  it('is nothing if all went its way, however many records there are', async () => {
    const stories = Array.from({ length: 300 }, () => HANDLED);
    expect(await judge(stories)).toEqual({ confirmed: 300, deliveries: 300, ids: [], rules: [] });
  });

  it.each<{ what: string; story: Story; rules: readonly string[] }>([
    { what: 'that was lost', story: HANDLED.slice(0, 1), rules: ['lost'] },
    { what: 'that was handled, and not acked', story: HANDLED.slice(0, 3), rules: [] },
    {
      what: 'that failed once',
      story: [
        ['p', 'confirmed'],
        ['c1', 'started', 1],
        ['c1', 'failed', 1],
        ['c1', 'retried', 1],
        ['c1', 'started', 2],
      ],
      rules: ['lost'],
    },
    {
      what: 'that ran twice at once',
      story: [
        ['p', 'confirmed'],
        ['c1', 'started', 1],
        ['c2', 'started', 2],
        ['c1', 'finished', 1],
        ['c1', 'acked', 1],
      ],
      rules: ['overlap', 'stale-settle'],
    },
    { what: 'that was handled after its ack', story: [...HANDLED, ['c2', 'started', 2]], rules: ['stale-settle'] },
    { what: 'that was confirmed twice', story: [...HANDLED, ['p', 'confirmed']], rules: ['duplicate'] },
  ])('is a message $what', async ({ story, rules }) => {
    expect(await judge([HANDLED, story, HANDLED])).toMatchObject({ ids: ['1'], rules });
  });

  it('is a message that ran before it was due', async () => {
    expect(await judge([HANDLED], 500)).toMatchObject({ ids: ['0'], rules: ['early'] });
  });
});
