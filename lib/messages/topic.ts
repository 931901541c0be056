import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { describe } from '../checks/describe.js';
import { assertOptions } from '../checks/validate.js';
import { MAX_NAME_LENGTH } from '../checks/limits.js';

declare const publishedType: unique symbol;

/**
 * A topic whose payload types the compiler knows; {@link topic} creates one. `In` is the published type, `Out` the one its handler gets.
 * They differ if a schema fills in defaults or transforms.
 *
 * @publicApi
 */
export interface Topic<In, Out = In> {
  readonly name: string;
  /** Schema that payloads must match when they are published and before they are delivered. */
  readonly schema?: StandardSchemaV1<unknown, Out> | undefined;
  /** Carries the published type; has no value. */
  readonly [publishedType]?: In;
}

/**
 * Reference to a topic: its name as a plain string, or a typed {@link Topic}. Without type arguments it is any topic, and the compiler
 * knows nothing about its payloads.
 *
 * @publicApi
 */
export type TopicRef<In = unknown, Out = unknown> = string | Topic<In, Out>;

const TOPIC_OPTIONS = ['schema'] as const;

/**
 * Creates a typed topic, so that a payload of the wrong shape does not compile. With a schema, payloads are checked at run time too: when
 * they are published, and again before they are delivered, to the handler that was given this topic.
 *
 * @param options `schema` is a [Standard Schema](https://standardschema.dev), for example of Zod, Valibot or ArkType. It gets the payload
 * after JSON, so a `Date` arrives as a string. The handler gets its output.
 * @throws InvalidArgumentError if the name is not 1 to 128 characters of `A-Z a-z 0-9 . _ : -`, or if the schema is not one
 *
 * @example
 * ```ts
 * export const orderTimeout = topic<{ orderId: string }>('order.timeout');
 * export const orderPaid = topic('order.paid', { schema: z.object({ orderId: z.string(), at: z.coerce.date() }) });
 * await producer.publish(orderTimeout, { orderId: '42' }, { delay: '30m' });
 * ```
 *
 * @publicApi
 */
export function topic<In, Out = In>(
  name: string,
  options?: { readonly schema?: StandardSchemaV1<In, Out> },
): Topic<In, Out> {
  assertName('topic', name);
  if (options === undefined) return Object.freeze({ name });
  assertOptions(`The options of topic '${name}'`, options, TOPIC_OPTIONS);
  if (!('schema' in options)) return Object.freeze({ name });
  assertSchema(name, options.schema);
  return Object.freeze({ name, schema: options.schema });
}

/** Returns the name of a topic, valid or not. */
export function topicName(ref: TopicRef): string {
  return typeof ref === 'object' && ref !== null ? ref.name : ref;
}

/** @throws InvalidArgumentError if the name is not 1 to 128 characters of `A-Z a-z 0-9 . _ : -` */
export function checkedTopicName(ref: TopicRef): string {
  const name = topicName(ref);
  assertName('topic', name);
  return name;
}

/** Returns the schema of a topic whose name has been checked. */
export function schemaOf(ref: TopicRef): StandardSchemaV1 | undefined {
  return typeof ref === 'object' ? ref.schema : undefined;
}

/**
 * Whether a topic or a prefix can have this name: 1 to 128 characters of `A-Z a-z 0-9 . _ : -`. Names become part of Redis keys, inside the
 * hash tag. A brace would end the tag and put a partition's keys into different slots.
 */
export function isName(name: unknown): name is string {
  return typeof name === 'string' && name.length <= MAX_NAME_LENGTH && /^[A-Za-z0-9._:-]+$/.test(name);
}

/** @throws InvalidArgumentError if it is no valid name for a topic or a prefix, see {@link isName} */
export function assertName(what: string, name: unknown): asserts name is string {
  if (!isName(name)) {
    throw new InvalidArgumentError(
      `A ${what} must be 1 to ${MAX_NAME_LENGTH} characters of A-Z a-z 0-9 . _ : - Given: ${describe(name)}.`,
    );
  }
}

/**
 * Asserts that this is a schema. One that is `undefined`, for example because of an import cycle, must not go unnoticed: nothing would be
 * checked.
 */
function assertSchema<S>(name: string, schema: S | undefined): asserts schema is S {
  // ArkType's schemas are functions, so the property is looked up on anything that can have one.
  const standard = (schema as Partial<StandardSchemaV1> | null | undefined)?.['~standard'];
  if (typeof standard?.validate !== 'function') {
    throw new InvalidArgumentError(
      `The schema of topic '${name}' must be a Standard Schema (https://standardschema.dev), as of Zod, Valibot or ` +
        `ArkType. Given: ${describe(schema)}.`,
    );
  }
}
