import { describe } from '../checks/describe.js';
import { didYouMean } from '../checks/nearest.js';
import { isPlainObject } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';

type TypeName = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null';

/** The part of JSON Schema (2020-12) that the API is written in. All but `format` and `pattern` is checked. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: TypeName | readonly TypeName[];
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly oneOf?: readonly Schema[];
}

const REF = '#/components/schemas/';

/** Refers to a schema by its name. */
export function ref(name: string): Schema {
  return { $ref: `${REF}${name}` };
}

/** Checks values that strangers give. */
export class SchemaCheck {
  readonly #named: Readonly<Record<string, Schema>>;

  constructor(named: Readonly<Record<string, Schema>>) {
    this.#named = named;
  }

  /**
   * @param name what the value is called in errors, such as `The body`; its parts are called by their own names
   * @throws InvalidArgumentError that says which part is wrong, and what is allowed
   */
  check(name: string, given: Schema, value: unknown): void {
    this.#check({ path: '', name }, given, value);
  }

  #check(place: Place, given: Schema, value: unknown): void {
    const schema = this.#resolve(given);
    if (schema.oneOf) return this.#checkOneOf(place, schema.oneOf, value);
    assertType(place, schema, value);
    if (typeof value === 'string') checkText(place, schema, value);
    if (typeof value === 'number') checkNumber(place, schema, value);
    if (Array.isArray(value)) this.#checkItems(place, schema, value);
    else if (isPlainObject(value)) this.#checkObject(place, schema, value);
  }

  /** The error is that of the one which was meant: it has the same tag, or a property that only it has to have. */
  #checkOneOf(place: Place, given: readonly Schema[], value: unknown): void {
    const all = given.map((one) => this.#resolve(one));
    if (isPlainObject(value)) {
      const objects = all.filter((one) => one.type === 'object');
      const tagged = objects.filter((one) => hasTags(one, value));
      const some = tagged.length > 0 ? tagged : objects;
      const meant =
        some.find(({ required = [] }) => required.some((name) => Object.hasOwn(value, name))) ?? some.at(-1);
      if (meant) return this.#check(place, meant, value);
    }
    const meant = all.find((one) => typesOf(one).some((type) => isOf(type, value)));
    if (meant) return this.#check(place, meant, value);
    throw wrongType(place, all.flatMap(typesOf), value);
  }

  #checkItems({ path, name }: Place, { items, minItems = 0, maxItems = Infinity }: Schema, values: unknown[]): void {
    if (values.length < minItems || values.length > maxItems) {
      const limits = maxItems === Infinity ? `at least ${minItems}` : `${minItems} to ${maxItems}`;
      throw new InvalidArgumentError(`${path || name} must have ${limits} items. Given: ${values.length}.`);
    }
    if (!items) return;
    values.forEach((value, i) => this.#check({ path: `${path}[${i}]`, name }, items, value));
  }

  #checkObject({ path, name }: Place, schema: Schema, value: Record<string, unknown>): void {
    const { properties = {}, required = [], additionalProperties = true } = schema;
    const missing = required.find((property) => !Object.hasOwn(value, property));
    if (missing !== undefined) throw new InvalidArgumentError(`${joined(path, missing)} is missing.`);
    for (const [property, part] of Object.entries(value)) {
      const known = Object.hasOwn(properties, property) ? properties[property] : undefined;
      if (known) {
        this.#check({ path: joined(path, property), name }, known, part);
      } else if (typeof additionalProperties === 'object') {
        this.#check({ path: joined(path, property), name }, additionalProperties, part);
      } else if (!additionalProperties) {
        throw unknownProperty({ path, name }, property, Object.keys(properties));
      }
    }
  }

  #resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    return this.#resolve(this.#named[schema.$ref.slice(REF.length)] as Schema);
  }
}

interface Place {
  /** Such as `messages[3].delay`; empty for the whole. */
  readonly path: string;
  /** What the whole is called. */
  readonly name: string;
}

function assertType(place: Place, schema: Schema, value: unknown): void {
  const types = typesOf(schema);
  if (types.length === 0 || types.some((type) => isOf(type, value))) return;
  throw wrongType(place, types, value);
}

function wrongType({ path, name }: Place, types: readonly TypeName[], value: unknown): InvalidArgumentError {
  const allowed = [...new Set(types)].map((type) => WORDS[type]).join(' or ');
  return new InvalidArgumentError(`${path || name} must be ${allowed}. Given: ${describe(value)}.`);
}

function checkText({ path, name }: Place, schema: Schema, text: string): void {
  const { enum: allowed, minLength = 0, maxLength = Infinity } = schema;
  if (allowed && !allowed.includes(text)) {
    const names = allowed.map((one) => `'${one}'`).join(', ');
    throw new InvalidArgumentError(`${path || name} must be one of ${names}. Given: ${describe(text)}.`);
  }
  if (text.length >= minLength && text.length <= maxLength) return;
  const limits = maxLength === Infinity ? `at least ${minLength}` : `${minLength} to ${maxLength}`;
  throw new InvalidArgumentError(`${path || name} must have ${limits} characters. Given: ${describe(text)}.`);
}

function checkNumber({ path, name }: Place, { minimum = -Infinity, maximum = Infinity }: Schema, value: number): void {
  if (value >= minimum && value <= maximum) return;
  const limits = maximum === Infinity ? `at least ${minimum}` : `from ${minimum} to ${maximum}`;
  throw new InvalidArgumentError(`${path || name} must be ${limits}. Given: ${describe(value)}.`);
}

function unknownProperty({ path, name }: Place, property: string, known: readonly string[]): InvalidArgumentError {
  const where = path === '' ? name.replace(/^The /, 'the ') : path;
  return new InvalidArgumentError(
    `There is no property ${describe(property)} in ${where}.${didYouMean(property, known)} Known properties: ${known.join(', ') || 'none'}.`,
  );
}

const WORDS: Readonly<Record<TypeName, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

function typesOf({ type }: Schema): readonly TypeName[] {
  if (type === undefined) return [];
  return typeof type === 'string' ? [type] : type;
}

function isOf(type: TypeName, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isPlainObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Whether the properties that can only have one value have it. */
function hasTags({ properties = {} }: Schema, value: Record<string, unknown>): boolean {
  const tags = Object.entries(properties).filter(([, part]) => part.enum?.length === 1);
  return tags.length > 0 && tags.every(([name, part]) => part.enum?.[0] === value[name]);
}

function joined(path: string, property: string): string {
  const name = /^[A-Za-z_$][\w$]*$/.test(property) ? property : describe(property);
  return path === '' ? name : `${path}.${name}`;
}
