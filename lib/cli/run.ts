import { CommanderError } from '@commander-js/extra-typings';
import { toldError } from './cli-error.js';
import { Cli } from './cli.js';
import { COMMANDS } from './commands.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { toJson } from './json.js';
import { say } from './paint.js';
import { type Program, createProgram } from './program.js';
import type { Terminal } from './terminal.js';

/**
 * Runs one command.
 *
 * @param args words typed after the program's name
 * @returns exit code of the process
 */
export async function run(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const { program, cli } = assemble(terminal);
  try {
    await program.parseAsync(args, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    return tell(error, args, cli);
  }
}

/** Puts the program together, with all commands. */
export function assemble(terminal: Terminal): { program: Program; cli: Cli } {
  const program = createProgram();
  const cli = new Cli(terminal, () => program.opts());
  program.exitOverride().configureOutput({
    // Commander itself prints only help and the version.
    writeOut: (text) => say(terminal.stdout, text, true),
    writeErr: (text) => say(terminal.stderr, text, true),
    // It throws errors too, and we report those in our own way.
    outputError: () => {},
  });
  for (const add of COMMANDS) add(program, cli);
  return { program, cli };
}

function tell(error: unknown, args: readonly string[], cli: Cli): ExitCode {
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
  if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
  const { exitCode, code, message } = toldError(error);
  // Options that cannot be read may hide whether this one was given.
  if (args.includes('--json')) cli.note(toJson({ error: { code, message } }));
  else cli.note(`${cli.notePaint('red', 'error:')} ${message}`);
  return exitCode;
}
