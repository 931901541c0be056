import { Command } from '@commander-js/extra-typings';
import { toDuration } from './given-values.js';
import { VERSION } from '../version.js';

/** Creates the program with the options of every command; the commands are added to it. */
export function createProgram() {
  return new Command('nestjs-delay-queue')
    .description('Looks into the topics of nestjs-delay-queue in a Redis, and acts on what they hold.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print what a command does and takes')
    .option(
      '--redis <redis>',
      "URL, path of a socket, the module's option 'redis' as JSON, or @file with one of them " +
        '(env DELAY_QUEUE_REDIS or REDIS_URL; default redis://127.0.0.1:6379)',
    )
    .option('--prefix <prefix>', 'prefix of the queues (env DELAY_QUEUE_PREFIX; default dq)')
    .option('--actor <name>', 'who acts, for the audit log (env DELAY_QUEUE_ACTOR; default user@host)')
    .option('--redis-timeout <duration>', 'longest time for an answer from Redis', toDuration, '5s')
    .option('--json', 'print JSON, in the documented forms')
    .option('-y, --yes', 'do not ask before something is removed')
    .option('--no-color', 'no colours (env NO_COLOR); there are none but on a terminal')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false });
}

export type Program = ReturnType<typeof createProgram>;

/** The options that every command takes. */
export type GlobalOptions = ReturnType<Program['opts']>;

/** Returns the end of a command's help. */
export function example(...lines: readonly [string, ...string[]]): string {
  return `\nExample:\n${lines.map((line) => `  $ npx nestjs-delay-queue ${line}`).join('\n')}`;
}
