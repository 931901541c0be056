import { VERSION } from '../version.js';
import { ANSWER_SCHEMAS } from './answer-schemas.js';
import { PROBLEMS, type ProblemCode, PROBLEM_TYPE } from './problem.js';
import { REQUEST_SCHEMAS } from './request-schemas.js';
import type { Route } from './route.js';
import { type Schema, ref } from './schema.js';

export interface DocumentOptions {
  /** Where the routes are, below the origin; empty if they are right there. */
  readonly base: string;
  /** Whether requests need a bearer token. */
  readonly tokens: boolean;
}

const IDEMPOTENCY_KEY = 'idempotencyKey';
const TOKEN = 'token';
const JSON_TYPE = 'application/json';

/** What every route that needs a right can be refused with. */
const COMMON: readonly ProblemCode[] = [
  'INVALID_ARGUMENT',
  'FORBIDDEN',
  'TOPIC_NOT_SERVED',
  'CONFIGURATION',
  'INTERNAL',
  'BROKER_UNAVAILABLE',
  'SHUTTING_DOWN',
];
const OF_BODIES: readonly ProblemCode[] = ['INVALID_JSON', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];

/** The document that describes routes, as OpenAPI 3.1 has it. */
export function openApiDocument(routes: readonly Route[], { base, tokens }: DocumentOptions): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route, tokens);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'nestjs-delay-queue gateway',
      version: VERSION,
      summary: 'Delayed messages over HTTP, for programs in any language.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: base === '' ? '/' : base }],
    paths,
    components: {
      schemas: { ...REQUEST_SCHEMAS, ...ANSWER_SCHEMAS },
      parameters: {
        [IDEMPOTENCY_KEY]: {
          name: 'Idempotency-Key',
          in: 'header',
          description:
            'The same request with the same key within two minutes gets the first answer, and nothing happens twice. A message that ' +
            'is published with a key and without an id gets an id that is made of both.',
          schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
        },
      },
      ...(tokens && { securitySchemes: { [TOKEN]: { type: 'http', scheme: 'bearer' } } }),
    },
  };
}

function operationOf(route: Route, tokens: boolean): object {
  const { name, summary, description, right, body, isBodyOptional = false } = route;
  const parameters = parametersOf(route);
  return {
    operationId: name,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(right === undefined ? {} : { 'x-right': right }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: !isBodyOptional, content: { [JSON_TYPE]: { schema: body } } } }),
    responses: responsesOf(route, tokens),
    ...(tokens && { security: right === undefined ? [] : [{ [TOKEN]: [] }] }),
  };
}

function parametersOf({ path, query, isRepeatable }: Route): object[] {
  const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query?.properties ?? {}).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: query?.required?.includes(name) ?? false,
    description,
    schema,
  }));
  const key = isRepeatable ? [{ $ref: `#/components/parameters/${IDEMPOTENCY_KEY}` }] : [];
  return [...inPath, ...inQuery, ...key];
}

function responsesOf(route: Route, tokens: boolean): Record<string, object> {
  const responses: Record<string, object> = {};
  for (const [status, { description, schema }] of Object.entries(route.answers)) {
    responses[status] = { description, content: { [JSON_TYPE]: { schema } } };
  }
  for (const [status, codes] of problemsOf(route, tokens)) {
    const description = codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' ');
    responses[status] = { description, content: { [PROBLEM_TYPE]: { schema: problemSchema(codes) } } };
  }
  return responses;
}

/** What a route can be refused with, by status. */
function problemsOf({ right, body, problems }: Route, tokens: boolean): Map<number, ProblemCode[]> {
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

function problemSchema(codes: readonly ProblemCode[]): Schema & { readonly allOf?: readonly Schema[] } {
  return { allOf: [ref('Problem'), { type: 'object', properties: { code: { type: 'string', enum: codes } } }] };
}
