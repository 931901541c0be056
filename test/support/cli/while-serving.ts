import { expect } from 'vitest';
import { run } from '../../../lib/cli/run.js';
import { until } from '../waiting.js';
import { FakeTerminal, type FakeTerminalSettings } from './fake-terminal.js';

/** Runs a command that serves until it has printed a URL that was used, and then Ctrl-C was pressed. */
export async function whileServing(
  args: readonly string[],
  settings: FakeTerminalSettings,
  use: (url: string) => Promise<void>,
): Promise<FakeTerminal> {
  const terminal = new FakeTerminal(settings);
  const ended = run(args, terminal);
  let code: number | undefined;
  void ended.then((ending) => (code = ending));
  const url = await until('a URL', () => {
    if (code !== undefined) throw new Error(`It ended with ${code}: ${terminal.errors}`);
    return /http:\S+/.exec(terminal.output.replaceAll('"', ' '))?.[0];
  });
  try {
    await use(url);
  } finally {
    process.emit('SIGINT');
    expect(await ended).toBe(0);
  }
  return terminal;
}
