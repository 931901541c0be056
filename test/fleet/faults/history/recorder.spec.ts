import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Recorder, readHistory } from './recorder.js';

it('a process that gets no turn for long records from when to when', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'delay-queue-recorder-'));
  try {
    const path = join(folder, 'c1.jsonl');
    new Recorder(path, 'c1').watchStandstills(100);
    await sleep(50);
    const from = Date.now();
    while (Date.now() < from + 200);
    await sleep(50);

    const standstills = readHistory(path).filter((record) => record.kind === 'stood-still');
    expect(standstills.some((record) => record.from <= from && record.at >= from + 200)).toBe(true);
  } finally {
    await rm(folder, { recursive: true });
  }
});
