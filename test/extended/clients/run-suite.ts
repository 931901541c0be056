import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { programPath } from '../../../scripts/setup/programs.mjs';
import { noteProcess } from '../../support/processes/left-processes.js';
import type { Command } from './suites.js';

/** How a command ended, and all that it has written. */
export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a command of a client to its end. */
export async function runCommand(
  { command, args, folder }: Command,
  variables: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = spawn(programPath(command), args, {
    cwd: folder,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  noteProcess(child);
  const written: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => written.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: Buffer.concat(written).toString() };
}
