import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { DeadLetterFilter, MessageFilter } from '../admin/index.js';
import type { FailureReason, MessageRef } from '../index.js';
import { FAILURE_REASONS } from '../messages/failure.js';
import { usageError } from './cli-error.js';
import { TOPIC } from './command.js';
import { messageRef, toTime } from './given-values.js';

/** Makes a command for the messages that match a filter. */
export function filterCommand(parent: CommandUnknownOpts, name: string) {
  return parent
    .command(name)
    .argument(...TOPIC)
    .option('--tag <tag>', 'those that carry this tag')
    .option('--key <key>', 'those with this key; beside an id: the one of several with that id')
    .option('--text <text>', 'those that have this text in their id, payload or error')
    .addOption(new Option('--field <path=value>', 'those whose payload has this value there').argParser(toField))
    .option('--from <time>', 'those that are due at this time or later', toTime)
    .option('--to <time>', 'those that are due before this time', toTime)
    .option('--all', 'every one');
}

/** Given options that select messages. */
export interface GivenFilter {
  readonly tag?: string | undefined;
  readonly key?: string | undefined;
  readonly text?: string | undefined;
  readonly field?: { path: string; value: string } | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly all?: true | undefined;
}

/** @throws CliError if nothing was chosen: that does not mean every message */
export function filterOf({ all, ...rest }: GivenFilter): MessageFilter {
  const isFilter = Object.values(rest).some((value) => value !== undefined);
  if (all && isFilter) throw usageError('--all means every message: leave it out, or the filters.');
  if (!all && !isFilter) {
    throw usageError('Say which messages: --all, or a filter (--tag, --key, --text, --field, --from, --to).');
  }
  return { all, ...rest };
}

/** Makes a command for dead letters that are chosen by a name or by what they have in common. */
export function deadLetterCommand(parent: CommandUnknownOpts, name: string) {
  return parent
    .command(name)
    .argument(...TOPIC)
    .option('--id <id>', 'the dead letter with this id')
    .option('--key <key>', 'those with this key; beside --id: the one of several with that id')
    .option('--all', 'every dead letter of the topic')
    .option('--fingerprint <fingerprint>', "those of a group of 'dead --group'")
    .option('--text <text>', 'those with this text in the name, code or message of their error')
    .addOption(new Option('--reason <reason>', 'those that died for this reason').choices(FAILURE_REASONS))
    .option('--since <time>', 'those that died at this time or later', toTime)
    .option('--until <time>', 'those that died before this time', toTime);
}

/** Given options that select dead letters. */
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

function toField(text: string): { path: string; value: string } {
  const end = text.indexOf('=');
  if (end < 1) throw new InvalidArgumentError('It must be path=value.');
  return { path: text.slice(0, end), value: text.slice(end + 1) };
}

function definedOf(filter: { [K in keyof DeadLetterFilter]: DeadLetterFilter[K] | undefined }): DeadLetterFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}
