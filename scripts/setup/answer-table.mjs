import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import ts from 'typescript';

import { PublicTypes } from './public-types.mjs';
import { ROOT } from './run.mjs';

const GATEWAY = join(ROOT, 'lib/gateway');
const TYPES = 'lib/gateway/answers.ts';
const TABLE = join(ROOT, 'lib/gateway/answer-table.ts');

/** Writes the schemas of the gateway's answers anew if they are not what the types say. */
export function writeAnswerTable() {
  const table = answerTable();
  if (readFileSync(TABLE, 'utf8') !== table) writeFileSync(TABLE, table);
}

/** Makes a JSON schema of each type that the gateway answers, described by its TSDoc. */
export function answerTable() {
  const schemas = new Schemas(new PublicTypes([TYPES])).of(answered());
  return [
    '// Made from answers.ts by scripts/setup/answer-table.mjs; `npm run build` writes it anew.\n',
    '\n/** The JSON schema of each type that is answered. */\nexport const ANSWERS = {\n',
    ...schemas.map(([name, schema]) => `  ${name}: ${JSON.stringify(schema)},\n`),
    '} as const;\n\nexport type AnswerName = keyof typeof ANSWERS;\n',
  ].join('');
}

/** The names of what routes answer. */
function answered() {
  const routes = readdirSync(GATEWAY).filter((name) => name.endsWith('.routes.ts'));
  const lists = routes.flatMap((name) => [
    ...readFileSync(join(GATEWAY, name), 'utf8').matchAll(/\bof: \[([^\]]+)\]/g),
  ]);
  return lists.flatMap(([, list]) => [...list.matchAll(/'(\w+)'/g)].map(([, name]) => name));
}

/** Only the text says whether it may be missing. */
const ANYTHING = ts.TypeFlags.Unknown | ts.TypeFlags.TypeParameter;

class Schemas {
  #checker;
  #source;
  #names;
  #found = new Map();

  constructor(types) {
    this.#checker = types.checker;
    this.#source = types.source(TYPES);
    // A type that has another name in the document counts under that one.
    const exported = [...types.exportsOf(TYPES)].toSorted(
      ([a, { name: ownOfA }], [b, { name: ownOfB }]) => Number(a !== ownOfA) - Number(b !== ownOfB),
    );
    this.#names = new Map(exported.map(([name, symbol]) => [this.#checker.getDeclaredTypeOfSymbol(symbol), name]));
  }

  /** The schemas of these types and of those that they consist of, by name. */
  of(roots) {
    for (const [type, name] of this.#names) if (roots.includes(name)) this.#ref(type, name);
    return [...this.#found].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  #ref(type, name) {
    if (!this.#found.has(name)) {
      this.#found.set(name, undefined);
      this.#found.set(name, this.#object(type));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** @param text the TSDoc of the property that has the type */
  #schema(type, text = '') {
    if (type.isUnion()) return this.#union(type, text);
    const { flags } = type;
    if (type.isStringLiteral()) return { type: 'string', const: type.value };
    if (flags & ts.TypeFlags.String) return { type: 'string' };
    if (flags & ts.TypeFlags.Number) return numberIn(text);
    if (flags & ts.TypeFlags.Boolean) return { type: 'boolean' };
    if (flags & ANYTHING) return {};
    if (type.symbol?.name === 'Date') return { type: 'string', format: 'date-time' };
    if (this.#checker.isArrayType(type)) {
      return { type: 'array', items: this.#schema(this.#checker.getTypeArguments(type)[0], text) };
    }
    const name = this.#names.get(type) ?? this.#names.get(type.target);
    return name === undefined ? this.#object(type) : this.#ref(type, name);
  }

  #union(type, text) {
    const parts = type.types.filter(({ flags }) => !(flags & ts.TypeFlags.Undefined));
    // The compiler lists them in any order.
    if (parts.every((part) => part.isStringLiteral()))
      return { type: 'string', enum: parts.map(({ value }) => value).toSorted() };
    if (parts.every(({ flags }) => flags & ts.TypeFlags.BooleanLiteral)) return { type: 'boolean' };
    const schemas = parts.map((part) => this.#schema(part, text));
    return schemas.length === 1 ? schemas[0] : { anyOf: schemas };
  }

  #object(type) {
    const description = this.#text(type.aliasSymbol ?? type.symbol);
    const values = type.getStringIndexType();
    if (values) {
      const own = this.#names.has(type) && description;
      return { type: 'object', additionalProperties: this.#schema(values), ...(own && { description }) };
    }
    const properties = {};
    const required = [];
    for (const property of type.getProperties()) {
      const value = this.#checker.getTypeOfSymbolAtLocation(property, this.#source);
      const text = this.#text(property) || this.#text(value.aliasSymbol);
      properties[property.name] = { ...this.#schema(value, text), ...(text && { description: text }) };
      if (!mayBeMissing(property, value, text)) required.push(property.name);
    }
    return {
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      ...(description && { description }),
    };
  }

  /** The TSDoc, as it is read where there is no TypeScript. */
  #text(symbol) {
    const parts = symbol?.getDocumentationComment(this.#checker) ?? [];
    return ts
      .displayPartsToString(parts)
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/\{@link (\w+) ?\}/g, '`$1`')
      .replaceAll(/(^|\. )`undefined`/g, '$1Left out')
      .replaceAll('`undefined`', 'left out')
      .trim();
  }
}

/** What is in milliseconds may be a fraction; all other numbers count something. */
function numberIn(text) {
  if (/\bmilliseconds\b/i.test(text)) return { type: 'number' };
  return { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
}

function mayBeMissing(property, { flags, types = [] }, text) {
  if (property.flags & ts.SymbolFlags.Optional) return true;
  if (flags & ANYTHING) return /left out/i.test(text);
  return types.some((type) => type.flags & ts.TypeFlags.Undefined);
}
