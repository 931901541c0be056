import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { BulkOptions, MessageFilter } from '../admin/index.js';
import type { MessageRef } from '../index.js';
import { usageError } from './cli-error.js';
import { TOPIC } from './command.js';
import { messageRef, toNumber, toTime } from './given-values.js';
import type { Program } from './program.js';

/** A command for the messages that a filter means. */
export function filterCommand(program: Program, name: string) {
  return program
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

/** A command that acts on one message, or on all that a filter means. */
export function manyCommand(program: Program, name: string) {
  return filterCommand(program, name)
    .argument('[id]', 'id of the message; without one, those that fit a filter')
    .option('--rate <number>', 'most messages a second; without it as fast as it goes', toNumber)
    .option('--dry-run', 'count them, and change nothing');
}

/** What was given of the options that choose. */
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

/** What an action is done to: one message, or all that a filter means. */
export type Chosen =
  | { readonly id: string; readonly ref: MessageRef }
  | {
      readonly id: undefined;
      readonly filter: MessageFilter;
      readonly dryRun: boolean;
      readonly options: Pick<BulkOptions, 'rate'>;
    };

/** @throws CliError if more than a key was given beside an id, or nothing was chosen */
export function chosenOf(
  id: string | undefined,
  {
    rate,
    dryRun = false,
    ...given
  }: GivenFilter & { readonly rate?: number | undefined; readonly dryRun?: boolean | undefined },
  onlyForMany?: true,
): Chosen {
  if (id === undefined) return { id, filter: filterOf(given), dryRun, options: { rate } };
  const { key, ...others } = given;
  if (!dryRun && Object.values({ ...others, rate, onlyForMany }).every((value) => value === undefined)) {
    return { id, ref: messageRef(id, key) };
  }
  throw usageError('An id means one message: give beside it --key at most.');
}

function toField(text: string): { path: string; value: string } {
  const end = text.indexOf('=');
  if (end < 1) throw new InvalidArgumentError('It must be path=value.');
  return { path: text.slice(0, end), value: text.slice(end + 1) };
}
