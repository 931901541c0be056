import * as z from 'zod';
import {
  type ZodOpenApiComponentsObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiSchemaObject,
  createDocument,
} from 'zod-openapi';
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

/** What every route that needs a right can be refused with. */
const COMMON: readonly ProblemCode[] = [
  'INVALID_ARGUMENT',
  'FORBIDDEN',
  'TOPIC_NOT_SERVED',
  'CONFIGURATION',
  'INTERNAL',
  'BROKER_UNAVAILABLE',
];
const OF_BODIES: readonly ProblemCode[] = ['INVALID_JSON', 'SERIALIZATION', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];

const IdempotencyKey = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[ -~]+$/)
  .exactOptional()
  .meta({
    param: { id: 'IdempotencyKey' },
    description:
      'The same request with the same key within two minutes gets the first answer, and nothing happens twice. A message that is ' +
      'published with a key and without an id gets an id that is made of both.',
  });

/** The document that describes routes, as OpenAPI 3.1 has it, but for where they are. */
export function openApiDocument(routes: readonly Route[], { tokens }: DocumentOptions): object {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route, tokens);
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'nestjs-delay-queue gateway',
        version: VERSION,
        description: 'Delayed messages over HTTP, for programs in any language.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      paths,
      components: {
        schemas: answersOf(routes),
        ...(tokens && { securitySchemes: { [TOKEN]: { type: 'http', scheme: 'bearer' } } }),
      },
    },
    {},
  );
}

/** The schemas of what routes answer, and of what those refer to. */
function answersOf(routes: readonly Route[]): NonNullable<ZodOpenApiComponentsObject['schemas']> {
  const names = new Set<string>([
    'Problem',
    ...routes.flatMap(({ answers }) => Object.values(answers).flatMap(({ of }) => of)),
  ]);
  for (const name of names) {
    const text = JSON.stringify(ANSWERS[name as AnswerName]);
    for (const [, other = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) names.add(other);
  }
  return Object.fromEntries(Array.from(names, (name) => [name, ANSWERS[name as AnswerName] as ZodOpenApiSchemaObject]));
}

function operationOf(route: Route, tokens: boolean): ZodOpenApiOperationObject {
  const { name, summary, description, right, body, isBodyOptional = false } = route;
  const needs = right === undefined ? undefined : `It needs the right \`${right}\` for each topic.`;
  const text = [description, needs].filter((part) => part !== undefined).join(' ');
  return {
    operationId: name,
    summary,
    ...(text !== '' && { description: text }),
    requestParams: parametersOf(route),
    ...(body && { requestBody: { required: !isBodyOptional, content: { [JSON_TYPE]: { schema: body } } } }),
    responses: responsesOf(route, tokens),
    ...(tokens && { security: right === undefined ? [] : [{ [TOKEN]: [] }] }),
  };
}

function parametersOf({ path, query, isRepeatable }: Route): NonNullable<ZodOpenApiOperationObject['requestParams']> {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => [name, z.string()] as const);
  return {
    ...(names.length > 0 && { path: z.object(Object.fromEntries(names)) }),
    ...(query && { query }),
    ...(isRepeatable && { header: z.object({ 'Idempotency-Key': IdempotencyKey }) }),
  };
}

function responsesOf(route: Route, tokens: boolean): ZodOpenApiOperationObject['responses'] {
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
  return { $ref: `#/components/schemas/${name}` };
}

/** @param codes that it has here */
function problemOf(codes: readonly ProblemCode[]): object {
  const code = { type: 'string', enum: codes };
  return { allOf: [refTo('Problem'), { type: 'object', properties: { code }, required: ['code'] }] };
}

/** What a route can be refused with, by status. */
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
