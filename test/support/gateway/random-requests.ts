import * as fc from 'fast-check';

/** A request that a stranger, or a program with faults, might send. */
export interface RandomRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** The parts of a JSON Schema that are followed here. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

/** The parts of an OpenAPI document that are followed here. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Longest wait that is asked for, in milliseconds: ten thousand requests are to end. */
const LONGEST_WAIT = 20;

/** Every operation of a document, with what fits it, what nearly fits it, and what does not fit anything. */
export function requestsOf(document: Document, topics: readonly string[]): fc.Arbitrary<RandomRequest> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return fc.constantFrom(...operations).chain(({ path, method, operation }) =>
    fc.record({
      method: mostly(fc.constant(method), fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS')),
      path: fc.tuple(pathOf(path, topics), queryOf(operation)).map((parts) => parts.join('')),
      headers: HEADERS,
      body: bodyOf(document, operation, topics),
    }),
  );
}

const ODD_TEXTS = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom(
    '',
    '.',
    '..',
    '__proto__',
    'constructor',
    '%',
    '%00',
    '\u0000',
    '\n',
    '{}',
    'a/b',
    'x'.repeat(300),
    'NaN',
  ),
);

const ODD_VALUES: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  ODD_TEXTS,
  fc.constantFrom(-1, 0, 1e308, Number.MAX_SAFE_INTEGER, 1.5, null, true, [], {}, '30m', '-1s', '1e9 years'),
);

const HEADERS = fc
  .record({
    'content-type': mostly(
      fc.constant('application/json'),
      fc.constantFrom('text/plain', 'application/json; charset=utf-8', 'application/x-www-form-urlencoded'),
    ),
    'idempotency-key': fc.option(
      mostly(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('', 'x'.repeat(256), 'tab\there')),
    ),
  })
  .map((headers) =>
    Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null)),
  );

function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

function pathOf(path: string, topics: readonly string[]): fc.Arbitrary<string> {
  const parts = path.split('/').map((part) => {
    if (part === '{topic}') return mostly(fc.constantFrom(...topics), ODD_TEXTS).map(encodeURIComponent);
    return part.startsWith('{')
      ? mostly(fc.constantFrom('1', '2', '3'), ODD_TEXTS).map(encodeURIComponent)
      : fc.constant(part);
  });
  return mostly(
    fc.tuple(...parts).map((all) => all.join('/')),
    fc.constantFrom('/', '//', '/v1', '/v1/%zz', '/v1/topics/%E0%A4%A/stats', '/v1/topics/a/messages/%2e%2e'),
  );
}

function queryOf({ parameters = [] }: Operation): fc.Arbitrary<string> {
  const names = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
  const pairs = fc.array(fc.tuple(fc.constantFrom(...names, 'nonsense'), ODD_TEXTS), { maxLength: 2 });
  const usual = fc.constant('');
  return mostly(
    usual,
    pairs.map((all) => (all.length === 0 ? '' : `?${new URLSearchParams(all).toString()}`)),
  );
}

function bodyOf(
  document: Document,
  { requestBody }: Operation,
  topics: readonly string[],
): fc.Arbitrary<string | undefined> {
  const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
  const fitting = schema ? valueOf(document, schema, topics) : fc.constant(undefined);
  const text = mostly(fitting, ODD_VALUES).map((value) =>
    value === undefined ? undefined : JSON.stringify(patient(value)),
  );
  return mostly(
    text,
    fc.constantFrom('{', '[]', '"', '{"a":1}}', '{"__proto__":{"payload":1}}', '\u0000', '['.repeat(5000)),
  );
}

function valueOf(document: Document, schema: Schema, topics: readonly string[]): fc.Arbitrary<unknown> {
  const { $ref, oneOf, anyOf, properties, required, items, type } = schema;
  const kinds = oneOf ?? anyOf;
  if ($ref !== undefined)
    return valueOf(document, document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {}, topics);
  if (kinds) return fc.constantFrom(...kinds).chain((kind) => valueOf(document, kind, topics));
  if (schema.enum) return mostly(fc.constantFrom(...schema.enum), ODD_VALUES);
  if (properties) return objectOf(document, { properties, required }, topics);
  if (items) return mostly(fc.array(valueOf(document, items, topics), { minLength: 1, maxLength: 5 }), ODD_VALUES);
  if (schema.format === 'date-time') return mostly(fc.constant('2031-01-01T00:00:00Z'), ODD_VALUES);
  if (type === 'integer' || type === 'number') return mostly(fc.integer({ min: 0, max: 2000 }), ODD_VALUES);
  if (type === 'string') return mostly(fc.constantFrom(...topics, '1', '2', '1h'), ODD_VALUES);
  return ODD_VALUES;
}

/** With what it needs, some of what it may have, and sometimes something that it does not have. */
function objectOf(
  document: Document,
  {
    properties,
    required = [],
  }: { properties: Readonly<Record<string, Schema>>; required: readonly string[] | undefined },
  topics: readonly string[],
): fc.Arbitrary<unknown> {
  const nothing = fc.constant(undefined);
  const known = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const value = valueOf(document, schema, topics);
      return [name, required.includes(name) ? mostly(value, nothing) : mostly(nothing, value)];
    }),
  );
  const more = mostly(fc.constant({}), fc.record({ nonsense: ODD_VALUES }));
  return fc.tuple(fc.record(known), more).map(([value, other]) => ({ ...value, ...other }));
}

function patient(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('wait' in value)) return value;
  const { wait } = value;
  const isLong = typeof wait === 'number' ? wait > LONGEST_WAIT : true;
  return isLong ? { ...value, wait: typeof wait === 'object' ? wait : LONGEST_WAIT } : value;
}
