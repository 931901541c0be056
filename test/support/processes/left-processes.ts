import type { ChildProcess } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'process-';

/** Where tests put what must not outlive the run: Vitest's global set-up names a folder in the environment and removes it. */
export function folderOfRun(): string {
  return process.env['TEST_RUN_FOLDER'] ?? tmpdir();
}

/** Notes a process that a test has started: what a failed test or hook has left of them ends with the run. */
export function noteProcess(child: ChildProcess): void {
  const folder = process.env['TEST_RUN_FOLDER'];
  if (folder === undefined || child.pid === undefined) return;
  const note = join(folder, `${PREFIX}${child.pid}`);
  writeFileSync(note, '');
  child.once('exit', () => rmSync(note, { force: true }));
}

/** Ends the processes that are still noted. */
export function endLeftProcesses(folder: string): void {
  for (const name of readdirSync(folder).filter((file) => file.startsWith(PREFIX))) {
    try {
      process.kill(Number(name.slice(PREFIX.length)), 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}
