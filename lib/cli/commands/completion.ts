import { Argument } from '@commander-js/extra-typings';
import type { AddCommand } from '../command.js';
import { COMPLETION_SCRIPTS, SHELLS } from '../completion-scripts.js';
import { example } from '../program.js';

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
