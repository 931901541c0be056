import { Option } from '@commander-js/extra-typings';
import type { DeadLetterFilter } from '../admin/index.js';
import type { FailureReason, MessageRef } from '../index.js';
import { FAILURE_REASONS } from '../messages/failure.js';
import { type CliError, notFound, usageError } from './cli-error.js';
import { TOPIC } from './command.js';
import { messageRef, toNumber, toTime } from './given-values.js';
import type { Program } from './program.js';
import { shown } from './text.js';

/** A command for dead letters that are chosen by a name or by what they have in common. */
export function deadLetterCommand(program: Program, name: 'requeue' | 'remove') {
  return program
    .command(name)
    .argument(...TOPIC)
    .option('--id <id>', 'the dead letter with this id')
    .option('--key <key>', 'those with this key; beside --id: the one of several with that id')
    .option('--all', 'every dead letter of the topic')
    .option('--fingerprint <fingerprint>', "those of a group of 'dead --group'")
    .option('--text <text>', 'those with this text in the name, code or message of their error')
    .addOption(new Option('--reason <reason>', 'those that died for this reason').choices(FAILURE_REASONS))
    .option('--since <time>', 'those that died at this time or later', toTime)
    .option('--until <time>', 'those that died before this time', toTime)
    .option('--rate <number>', 'most messages a second; without it as fast as it goes', toNumber)
    .option('--dry-run', 'count them, and change nothing');
}

/** What was given of the options that choose. */
interface GivenSelection {
  readonly id?: string | undefined;
  readonly key?: string | undefined;
  readonly all?: true | undefined;
  readonly fingerprint?: string | undefined;
  readonly text?: string | undefined;
  readonly reason?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/**
 * @returns one dead letter by its id, or a filter
 * @throws CliError if nothing was chosen: that does not mean every dead letter
 */
export function selectionOf({ id, all, ...given }: GivenSelection): MessageRef | DeadLetterFilter {
  const { key, ...filter } = given;
  const filters = Object.values({ key, ...filter }).filter((value) => value !== undefined).length;
  if (id !== undefined) {
    if (all || filters > (key === undefined ? 0 : 1))
      throw usageError('--id means one dead letter: give beside it --key at most.');
    return messageRef(id, key);
  }
  if (all && filters > 0) throw usageError('--all means every dead letter: leave it out, or the filters.');
  if (!all && filters === 0) {
    throw usageError(
      'Say which dead letters: --id, --all, or a filter (--fingerprint, --text, --reason, --key, --since, --until).',
    );
  }
  return definedOf({ key, ...filter, all, reason: filter.reason as FailureReason | undefined });
}

/** What to tell if there is no dead letter with the id that was given; `undefined` if none was. */
export function missingOf(topic: string, id: string | undefined): (() => CliError) | undefined {
  if (id === undefined) return undefined;
  return () => notFound(`Topic '${topic}' has no dead letter with the id '${shown(id)}'.`);
}

function definedOf(filter: { [K in keyof DeadLetterFilter]: DeadLetterFilter[K] | undefined }): DeadLetterFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}
