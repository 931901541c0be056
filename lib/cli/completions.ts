import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { Program } from './program.js';

/** What may stand at the cursor. */
export interface Completions {
  readonly values: readonly string[];
  /** What it names, if Redis has to be asked for such names. */
  readonly names: 'topic' | 'schedule' | undefined;
  /** Which Redis and prefix the words before it name. */
  readonly redis: string | undefined;
  readonly prefix: string | undefined;
}

/** @param words what was typed behind the program's name; the last one is at the cursor, and may be empty */
export function completionsOf(program: Program, words: readonly string[]): Completions {
  const current = words.at(-1) ?? '';
  const found = walk(program, words.slice(0, -1));
  const given = { redis: found.values.get('redis'), prefix: found.values.get('prefix') };
  const none = { names: undefined, ...given };
  if (found.pending) return { ...none, values: found.pending.argChoices ?? [] };
  if (current.startsWith('-')) {
    return { ...none, values: optionsOf(found.command).flatMap(({ long, hidden }) => (long && !hidden ? [long] : [])) };
  }
  const { command, operands } = found;
  if (command.commands.length > 0) return { ...none, values: namesOf(command) };
  const argument = command.registeredArguments[operands];
  const name = argument?.name();
  const names = name === 'topic' || name === 'schedule' ? name : undefined;
  return { ...given, values: argument?.argChoices ?? [], names };
}

interface Found {
  readonly command: CommandUnknownOpts;
  /** How many arguments of the command are given already. */
  readonly operands: number;
  /** An option that takes its value at the cursor. */
  readonly pending: Option | undefined;
  /** The values of options, by their names. */
  readonly values: ReadonlyMap<string, string>;
}

function walk(program: CommandUnknownOpts, words: readonly string[]): Found {
  let command = program;
  let operands = 0;
  let pending: Option | undefined;
  const values = new Map<string, string>();
  for (const word of words) {
    if (pending) {
      values.set(pending.attributeName(), word);
      pending = undefined;
    } else if (word.startsWith('-')) {
      const option = optionsOf(command).find(({ long, short }) => word === long || word === short);
      if (option?.required || option?.optional) pending = option;
    } else {
      const inner = command.commands.find((each) => each.name() === word);
      if (inner) command = inner;
      else operands++;
    }
  }
  return { command, operands, pending, values };
}

/** The options of a command, and those of what it belongs to. */
function optionsOf(command: CommandUnknownOpts): Option[] {
  const inherited = command.parent ? optionsOf(command.parent) : [];
  return [...(command.options as Option[]), ...inherited];
}

function namesOf(command: CommandUnknownOpts): string[] {
  const shown = command.createHelp().visibleCommands(command);
  return shown.map((each) => each.name());
}
