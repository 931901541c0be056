import { expect } from 'vitest';
import { run } from '../../../lib/cli/run.js';
import { FakeTerminal, type FakeTerminalSettings } from './fake-terminal.js';

/** What a command has printed, and ended with. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command within this process. */
export async function runInProcess(args: readonly string[], settings: FakeTerminalSettings): Promise<Outcome> {
  const terminal = new FakeTerminal(settings);
  const code = await run(args, terminal);
  // What was written last is noted in the next turn.
  await new Promise(setImmediate);
  return { code, stdout: terminal.output, stderr: terminal.errors };
}

/** What a command that has succeeded has printed as JSON. */
export function readSuccess({ code, stdout, stderr }: Outcome): unknown {
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.endsWith('\n')).toBe(true);
  return JSON.parse(stdout);
}
