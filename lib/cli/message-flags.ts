import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { JsonSchema } from '../checks/rules.js';
import { PUBLISH_RULES } from '../messages/message-options.js';
import type { PublishOptions } from '../index.js';
import { TIME_FORMS } from '../time/date.js';
import { readJson, toDuration, toHeaders, toNumber, toTags, toTime } from './given-values.js';
import type { Terminal } from './terminal.js';

/** How an option is given on the command line. */
interface Form {
  /** What stands behind its flag. */
  readonly takes: string;
  /** What its description ends with. */
  readonly as?: string;
  readonly read?: (text: string, before: never) => unknown;
  /** Each value has a flag of its own, in the singular. */
  readonly isRepeated?: boolean;
  /** Read when the command runs, since it may be in a file. */
  readonly isJson?: boolean;
}

const DURATION = PUBLISH_RULES.delay.schema?.['$ref'];
const DUE_TIME = PUBLISH_RULES.deliverAt.schema?.['$ref'];

const SEVERAL = '; may be given several times';

const FLAGS = Object.entries(PUBLISH_RULES).map(([name, { schema = {} }]) => {
  const form = formOf(name, schema);
  const flag = (form.isRepeated ? name.slice(0, -1) : name).replaceAll(
    /[A-Z]/g,
    (letter) => `-${letter.toLowerCase()}`,
  );
  return { name, form, schema, flag };
});

/** Adds a flag for each option of a publish. */
export function addMessageFlags(command: CommandUnknownOpts): void {
  for (const { flag, form, schema } of FLAGS) {
    const { description = '', enum: choices } = schema;
    const text = `${description.charAt(0).toLowerCase()}${description.slice(1).replace(/\.$/, '')}${form.as ?? ''}`;
    const option = new Option(`--${flag} <${form.takes}>`, text);
    if (form.read) option.argParser(form.read as (text: string, before: unknown) => unknown);
    if (choices) option.choices(choices as readonly string[]);
    command.addOption(option);
  }
}

/**
 * The options that were given by their flags.
 *
 * @throws CliError if one of them is no JSON
 */
export async function messageOptionsIn(
  given: Readonly<Record<string, unknown>>,
  terminal: Terminal,
): Promise<PublishOptions> {
  const options: Record<string, unknown> = {};
  for (const { name, form, flag } of FLAGS) {
    const value = given[form.isRepeated ? flag : name];
    if (value === undefined) continue;
    options[name] = form.isJson ? await readJson(terminal, `--${flag}`, value as string) : value;
  }
  return options;
}

function formOf(name: string, { $ref = '', type, enum: choices, additionalProperties }: JsonSchema): Form {
  if ($ref === DURATION) return { takes: 'duration', read: toDuration };
  if ($ref === DUE_TIME) return { takes: 'time', read: toTime, as: `, as ${TIME_FORMS}` };
  if (choices !== undefined) return { takes: 'what' };
  if (type === 'string') return { takes: name };
  if (type === 'integer') return { takes: 'number', read: toNumber };
  if (type === 'array') return { takes: name.slice(0, -1), read: toTags, as: SEVERAL, isRepeated: true };
  if (additionalProperties) return { takes: 'name=value', read: toHeaders, as: SEVERAL, isRepeated: true };
  return { takes: 'json', as: ', as JSON', isJson: true };
}
