import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

/** Vitest's global set-up: a folder for what several specs of a run need and none wants to make again. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'delay-queue-run-')));
  project.provide('runFolder', folder);
  return () => rm(folder, { recursive: true, force: true });
}
