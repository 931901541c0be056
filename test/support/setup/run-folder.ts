import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { endLeftProcesses } from '../processes/left-processes.js';

/**
 * Vitest's global set-up: a folder for what several specs of a run need and none wants to make again, and for all that must not
 * outlive the run.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'delay-queue-run-')));
  project.provide('runFolder', folder);
  // Workers inherit it.
  process.env['TEST_RUN_FOLDER'] = folder;
  return async () => {
    endLeftProcesses(folder);
    await rm(folder, { recursive: true, force: true });
  };
}
