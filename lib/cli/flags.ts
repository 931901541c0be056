import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { AnyRules, JsonSchema } from '../checks/rules.js';
import { PUBLISH_RULES } from '../messages/message-options.js';
import { TIME_FORMS } from '../time/date.js';
import { readJson, toDuration, toHeaders, toNumber, toTags, toTime } from './given-values.js';
import type { Terminal } from './terminal.js';

/** Form of an option on the command line. */
interface Form {
  /** Value after its flag; `undefined`: none. */
  readonly takes?: string;
  /** End of its description. */
  readonly as?: string;
  readonly read?: (text: string, before: never) => unknown;
  /** Whether each value has a flag of its own, in the singular. */
  readonly isRepeated?: boolean;
  /** Whether it is JSON, which is read when the command runs, since it can be in a file. */
  readonly isJson?: boolean;
  /** Its name in errors, if not that of its flag. */
  readonly called?: string;
}

const DURATION = PUBLISH_RULES.delay.schema?.['$ref'];
const DUE_TIME = PUBLISH_RULES.deliverAt.schema?.['$ref'];

const SEVERAL = '; may be given several times';

/**
 * Adds a flag for each option that has a rule; a required option whose only form is JSON becomes the last argument.
 *
 * @param names names of flags that differ from those of their options
 */
export function addFlags(
  command: CommandUnknownOpts,
  rules: AnyRules,
  names: Readonly<Record<string, string | undefined>> = {},
): void {
  for (const { name, flag, form, schema, isRequired } of flagsOf(rules, names)) {
    const { description = '', enum: choices, default: otherwise } = schema;
    if (isRequired && form.isJson) {
      command.argument(`<${name}>`, description);
      continue;
    }
    const text = `${description.charAt(0).toLowerCase()}${description.slice(1).replace(/\.$/, '')}${form.as ?? ''}`;
    const option = new Option(form.takes === undefined ? `--${flag}` : `--${flag} <${form.takes}>`, text);
    if (form.read) option.argParser(form.read as (text: string, before: unknown) => unknown);
    if (choices) option.choices(choices as readonly string[]);
    if (otherwise !== undefined) option.default(otherwise);
    command.addOption(option.makeOptionMandatory(isRequired));
  }
}

/**
 * Returns the options that were given by their flags.
 *
 * @throws CliError if one of them is not JSON
 */
export async function flagsIn(
  command: CommandUnknownOpts,
  terminal: Terminal,
  rules: AnyRules,
  names: Readonly<Record<string, string | undefined>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const given = command.opts();
  const options: Record<string, unknown> = {};
  for (const { name, property, flag, form, isRequired } of flagsOf(rules, names)) {
    const value = isRequired && form.isJson ? command.args.at(-1) : given[property];
    if (value === undefined) continue;
    const { isJson, called } = form;
    options[name] = isJson ? await readJson(terminal, called ?? `--${flag}`, value as string, called && name) : value;
  }
  return options;
}

function flagsOf(rules: AnyRules, names: Readonly<Record<string, string | undefined>>) {
  return Object.entries(rules).map(([name, { schema = {}, isOptional = false }]) => {
    const form = formOf(name, schema);
    const property = names[name] ?? (form.isRepeated ? name.slice(0, -1) : name);
    const flag = property.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return { name, property, flag, form, schema, isRequired: !isOptional };
  });
}

function formOf(name: string, schema: JsonSchema): Form {
  const { $ref = '', type, enum: choices, additionalProperties } = schema;
  if ($ref === DURATION) return { takes: 'duration', read: toDuration };
  if ($ref === DUE_TIME) return { takes: 'time', read: toTime, as: `, as ${TIME_FORMS}` };
  if (choices !== undefined) return { takes: 'what' };
  if (type === 'boolean') return {};
  if (type === 'string') return { takes: name };
  if (type === 'integer') return { takes: 'number', read: toNumber };
  if (type === 'array') return { takes: name.slice(0, -1), read: toTags, as: SEVERAL, isRepeated: true };
  if (additionalProperties) return { takes: 'name=value', read: toHeaders, as: SEVERAL, isRepeated: true };
  if (Object.keys(schema).every((keyword) => keyword === 'description'))
    return { takes: name, isJson: true, called: `The ${name}` };
  return { takes: 'json', as: ', as JSON', isJson: true };
}
