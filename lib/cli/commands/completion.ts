import { Argument, type CommandUnknownOpts, type Option } from '@commander-js/extra-typings';
import { createDelayQueueAdmin } from '../../composition/create-delay-queue-admin.js';
import type { AddCommand } from '../command.js';
import { say } from '../paint.js';
import { type Program, example } from '../program.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

type Shell = (typeof SHELLS)[number];

/** The hidden command that the scripts call with the words before the cursor; it prints the possible completions, one per line. */
const COMPLETE = 'complete';

const BASH = `# Completes nestjs-delay-queue in bash.
_nestjs_delay_queue() {
  local line=\${COMP_LINE:0:COMP_POINT} found
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local current=\${words[\${#words[@]}-1]}
  # bash takes what follows a colon for a word of its own.
  local before=''
  [[ $current == *:* ]] && before=\${current%"\${current##*:}"}
  COMPREPLY=()
  while IFS= read -r found; do
    COMPREPLY+=("\${found#"$before"}")
  done < <(nestjs-delay-queue ${COMPLETE} -- "\${words[@]:1}" 2> /dev/null)
}
complete -o default -F _nestjs_delay_queue nestjs-delay-queue
`;

const ZSH = `#compdef nestjs-delay-queue
# Completes nestjs-delay-queue in zsh.
_nestjs_delay_queue() {
  local -a found
  found=("\${(@f)$(nestjs-delay-queue ${COMPLETE} -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  compadd -- "\${(@)found:#}"
}
if [ "$funcstack[1]" = "_nestjs_delay_queue" ]; then
  _nestjs_delay_queue "$@"
else
  compdef _nestjs_delay_queue nestjs-delay-queue
fi
`;

const FISH = `# Completes nestjs-delay-queue in fish.
complete -c nestjs-delay-queue -f -a '(nestjs-delay-queue ${COMPLETE} -- (commandline -opc)[2..-1] (commandline -ct) 2> /dev/null)'
`;

const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

export const completion: AddCommand = (program, cli) => {
  program
    .command('completion')
    .summary('print what completes commands in your shell')
    .description(
      "Prints a script that completes commands, options, their values and the names of topics and schedules. Have your shell's start-up " +
        'file read it.',
    )
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addHelpText('after', example('completion bash > nestjs-delay-queue.bash'))
    .action((shell) => {
      cli.terminal.stdout.write(COMPLETION_SCRIPTS[shell]);
    });
};

/** Longest time that the tab key waits for names. */
const PATIENCE = '1s';

/** The command that the scripts of `completion` call. */
export const complete: AddCommand = (program, cli) => {
  program
    .command(COMPLETE, { hidden: true })
    .argument('[words...]')
    .action(async (words) => {
      const completions = completionsOf(program, words);
      const known = completions.names ? await knownNames(completions.names, completions) : completions.values;
      const current = words.at(-1) ?? '';
      const fitting = known.filter((name) => name.startsWith(current));
      if (fitting.length > 0) say(cli.terminal.stdout, `${fitting.join('\n')}\n`, false);
    });

  /** Returns no names if Redis is away: a completion prints no errors. */
  async function knownNames(kind: 'topic' | 'schedule', { redis, prefix }: Completions): Promise<string[]> {
    try {
      const silent = { log: () => {}, warn: () => {}, error: () => {} };
      if (redis !== undefined) program.setOptionValue('redis', redis);
      if (prefix !== undefined) program.setOptionValue('prefix', prefix);
      const admin = await createDelayQueueAdmin({ ...cli.connectionOptions, timeout: PATIENCE, log: silent });
      const names =
        kind === 'topic'
          ? admin.topics()
          : admin.schedules.listKnown().then(({ schedules }) => schedules.map(({ id }) => id));
      return await names.finally(() => admin.close());
    } catch {
      return [];
    }
  }
};

/** Possible completions at the cursor. */
interface Completions {
  readonly values: readonly string[];
  /** Kind of the names at the cursor, if they have to come from Redis. */
  readonly names: 'topic' | 'schedule' | undefined;
  /** Redis and prefix that the words before it name. */
  readonly redis: string | undefined;
  readonly prefix: string | undefined;
}

/** @param words words typed after the program's name; the last one is at the cursor, and can be empty */
function completionsOf(program: Program, words: readonly string[]): Completions {
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
  /** Number of arguments of the command given so far. */
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

/** Returns the options of a command, and those of its parents. */
function optionsOf(command: CommandUnknownOpts): Option[] {
  const inherited = command.parent ? optionsOf(command.parent) : [];
  return [...(command.options as Option[]), ...inherited];
}

function namesOf(command: CommandUnknownOpts): string[] {
  const shown = command.createHelp().visibleCommands(command);
  return shown.map((each) => each.name());
}
