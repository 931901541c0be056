import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { assemble } from '../../../lib/cli/run.js';
import { FakeTerminal } from './fake-terminal.js';

/** The commands in the order of the help, those of a group with its name before theirs. */
export function commandNames(): string[] {
  return namesIn(assemble(new FakeTerminal()).program);
}

function namesIn(parent: CommandUnknownOpts): string[] {
  const visible = parent.createHelp().visibleCommands(parent);
  return visible.flatMap((command) => {
    if (command.name() === 'help') return [];
    const inner = command.commands.length > 0 ? namesIn(command) : [];
    return inner.length > 0 ? inner.map((name) => `${command.name()} ${name}`) : [command.name()];
  });
}
