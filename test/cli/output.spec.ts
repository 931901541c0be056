import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { noteProcess } from '../support/processes/left-processes.js';

it('results that cannot be written, as to a disk that is full, are an error of their own without a stack', async () => {
  const full = await open('/dev/full', 'w');
  const child = spawn(process.execPath, ['dist/cjs/cli/index.js', 'acl'], { stdio: ['ignore', full.fd, 'pipe'] });
  noteProcess(child);
  const [said, [code]] = await Promise.all([text(child.stderr as Readable), once(child, 'exit')]);
  await full.close();
  expect([code, said]).toEqual([74, expect.stringMatching(/^error: The results cannot be written: ENOSPC.*\n$/)]);
});
