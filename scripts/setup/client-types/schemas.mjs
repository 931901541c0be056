const REF = '#/components/schemas/';

/** The head of each file, as programs know it. */
export const MADE_BY =
  "Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.";

/** What a gateway of version 0.1 does not tell, so that it may be missing though the document says that it is there. */
const LATER = ['TopicStats.blockedDue', 'TopicStats.retrying'];
const FROM_FORMER = 'Left out if the gateway is of version 0.1.';

/** The objects of the gateway's document as tables of fields. */
export class Schemas {
  #schemas;

  constructor(schemas) {
    this.#schemas = schemas;
  }

  /** @param path of an object: the name of its schema, and where it has no schema of its own, that of a property */
  object(path) {
    const [name, property] = path.split('.');
    const schema = property ? this.#schemas[name].properties[property] : this.#schemas[name];
    return { path, text: schema.description, fields: this.#fieldsOf(path, schema) };
  }

  #fieldsOf(path, { properties, required = [] }) {
    const fields = Object.entries(properties).map(([name, property]) => ({
      name,
      path: `${path}.${name}`,
      ...this.#about(`${path}.${name}`, property, required.includes(name)),
      type: typeOf(property),
    }));
    // In most languages what may be left out comes last.
    return fields.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
  }

  #about(path, property, isRequired) {
    const text = property.description ?? this.#schemas[refOf(property)].description;
    return LATER.includes(path) ? { text: `${text} ${FROM_FORMER}`, isRequired: false } : { text, isRequired };
  }
}

/**
 * `kind` is one of ref (with its name), time, text, choice (with its values), whole, milliseconds, flag, list (with what is in it),
 * map (likewise) and any.
 */
function typeOf(schema) {
  const name = refOf(schema);
  if (name !== undefined) return { kind: 'ref', name };
  if (schema.enum) return { kind: 'choice', values: schema.enum };
  switch (schema.type) {
    case 'string':
      return { kind: schema.format === 'date-time' ? 'time' : 'text' };
    case 'integer':
      return { kind: 'whole' };
    case 'number':
      return { kind: 'milliseconds' };
    case 'boolean':
      return { kind: 'flag' };
    case 'array':
      return { kind: 'list', of: typeOf(schema.items) };
    case 'object':
      return schema.additionalProperties
        ? { kind: 'map', of: typeOf(schema.additionalProperties) }
        : { kind: 'object' };
    default:
      return { kind: 'any' };
  }
}

function refOf({ $ref }) {
  return $ref?.startsWith(REF) ? $ref.slice(REF.length) : undefined;
}

/** What is in backticks as `code` has it, and what is left out as `nothing`, in the words of a language. */
export function worded(text, { code, nothing }) {
  return text
    .replaceAll(/`([^`]+)`/g, (_, inner) => code(inner))
    .replaceAll(/\bLeft out (?=if\b)/g, `${capitalized(nothing)} `)
    .replaceAll(/\bleft out (?=(?:if|before|for)\b)/g, `${nothing} `);
}

/** The text, and the values of a choice as a sentence, unless it names them. */
export function withValues(text, values, shown) {
  if (values.every((value) => text.includes(`'${value}'`))) return text;
  const all = values.map((value) => `\`${shown(value)}\``);
  return `${text} One of ${all.slice(0, -1).join(', ')} and ${all.at(-1)}.`;
}

/** Lines of at most `width` characters, each behind `before`. */
export function wrapped(text, before, width) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== '' && before.length + last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines.map((line) => `${before}${line}`);
}

export function capitalized(text) {
  return text.replace(/^\w/, (letter) => letter.toUpperCase());
}

export function pascalCase(name) {
  return name.replaceAll(/(?:^|-)(\w)/g, (_, letter) => letter.toUpperCase());
}
