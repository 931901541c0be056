import type { JsonSchema } from '../checks/rules.js';
import { VERSION } from '../version.js';
import { ANSWERS, type AnswerName } from './answer-table.js';
import { PROBLEMS, PROBLEM_TYPE, type ProblemCode } from './problem.js';
import type { Route } from './route.js';

export interface DocumentOptions {
  /** Whether requests need a bearer token. */
  readonly tokens: boolean;
}

const TOKEN = 'token';
const JSON_TYPE = 'application/json';

/** Problems with which every route that needs a right can refuse a request. */
const COMMON: readonly ProblemCode[] = [
  'INVALID_ARGUMENT',
  'FORBIDDEN',
  'TOPIC_NOT_SERVED',
  'CONFIGURATION',
  'INTERNAL',
  'BROKER_UNAVAILABLE',
];
const OF_BODIES: readonly ProblemCode[] = ['INVALID_JSON', 'SERIALIZATION', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];

const IDEMPOTENCY_KEY = {
  in: 'header',
  name: 'Idempotency-Key',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
  description:
    'The same request with the same key within two minutes gets the first answer, and nothing happens twice. A message that is ' +
    'published with a key and without an id gets an id that is made of both.',
} as const;

const SCHEMAS = '#/components/schemas/';

/** Descriptions of path parameters. */
const IN_PATHS: Readonly<Record<string, string>> = {
  topic: 'Name of a topic that is served.',
  id: 'Names the message, or the schedule.',
};

/** Returns the OpenAPI 3.1 document that describes routes, except for where they are. */
export function openApiDocument(routes: readonly Route[], { tokens }: DocumentOptions): object {
  const paths: Record<string, Record<string, object>> = {};
  const schemas: Record<string, unknown> = {};
  for (const route of routes) {
    const operation = placed(operationOf(route, tokens), schemas);
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation as object;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'nestjs-delay-queue gateway',
      version: VERSION,
      description: 'Delayed messages over HTTP, for programs in any language.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths,
    components: {
      schemas,
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      ...(tokens && { securitySchemes: { [TOKEN]: { type: 'http', scheme: 'bearer' } } }),
    },
  };
}

/** Moves named schemas to the schemas of the document. */
function placed(part: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(part)) return part.map((item) => placed(item, schemas));
  if (typeof part !== 'object' || part === null) return part;
  const { $defs = ANSWERS, ...rest } = part as JsonSchema;
  const { $ref } = rest;
  if (typeof $ref === 'string' && $ref.startsWith(SCHEMAS)) {
    const name = $ref.slice(SCHEMAS.length);
    // Some schemas refer to themselves.
    if (!Object.hasOwn(schemas, name)) schemas[name] = {};
    else return rest;
    schemas[name] = placed(($defs as Readonly<Record<string, unknown>>)[name], schemas);
  }
  return Object.fromEntries(Object.entries(rest).map(([name, inner]) => [name, placed(inner, schemas)]));
}

function operationOf(route: Route, tokens: boolean): object {
  const { name, summary, description, right, body, isBodyOptional = false } = route;
  const needs = right === undefined ? undefined : `It needs the right \`${right}\` for each topic.`;
  const text = [description, needs].filter((part) => part !== undefined).join(' ');
  return {
    operationId: name,
    summary,
    ...(text !== '' && { description: text }),
    parameters: parametersOf(route),
    ...(body && { requestBody: { required: !isBodyOptional, content: { [JSON_TYPE]: { schema: body.schema } } } }),
    responses: responsesOf(route, tokens),
    ...(tokens && { security: right === undefined ? [] : [{ [TOKEN]: [] }] }),
  };
}

function parametersOf({ path, query, isRepeatable }: Route): object[] {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
  const { properties = {}, required = [] } = (query?.schema ?? {}) as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly required?: readonly string[];
  };
  return [
    ...names.map((name) => ({
      in: 'path',
      name,
      schema: { type: 'string' },
      required: true,
      description: IN_PATHS[name],
    })),
    ...Object.entries(properties).map(([name, { description, ...schema }]) => ({
      in: 'query',
      name,
      schema,
      ...(required.includes(name) && { required: true }),
      description,
    })),
    ...(isRepeatable ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
  ];
}

function responsesOf(route: Route, tokens: boolean): object {
  const answers = Object.entries(route.answers).map(
    ([status, { description, of }]) =>
      [status, { description, content: { [JSON_TYPE]: { schema: oneOf(of) } } }] as const,
  );
  const problems = Array.from(problemsOf(route, tokens), ([status, codes]) => {
    const description = codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' ');
    return [String(status), { description, content: { [PROBLEM_TYPE]: { schema: problemOf(codes) } } }] as const;
  });
  return Object.fromEntries([...answers, ...problems]);
}

function oneOf(names: readonly AnswerName[]): object {
  const [only, ...others] = names.map(refTo);
  return others.length === 0 ? (only as object) : { anyOf: [only, ...others] };
}

function refTo(name: AnswerName): { $ref: string } {
  return { $ref: `${SCHEMAS}${name}` };
}

/** @param codes codes that are possible here */
function problemOf(codes: readonly ProblemCode[]): object {
  const code = { type: 'string', enum: codes };
  return { allOf: [refTo('Problem'), { type: 'object', properties: { code }, required: ['code'] }] };
}

/** Returns the problems with which a route can refuse a request, by status. */
function problemsOf({ right, body, problems }: Route, tokens: boolean): ReadonlyMap<number, readonly ProblemCode[]> {
  const all = [
    ...(right === undefined ? ['INTERNAL' as const] : COMMON),
    ...(body ? OF_BODIES : []),
    ...(tokens && right !== undefined ? ['UNAUTHORIZED' as const] : []),
    ...problems,
  ];
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set(all)) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}
