import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { Audited } from '../events/audit-log.js';
import { PublishManyError } from '../messages/publish-many.error.js';
import type { PublishOptions, PublishedMessage } from '../messages/publish-options.interface.js';
import type { Topic } from '../messages/topic.js';
import type { DelayQueueProducer } from '../producer/delay-queue.producer.js';
import { isoToEpoch } from '../time/iso-time.js';
import { messageIdOf } from './idempotency.js';
import { refusal, toProblem } from './problem.js';
import type { Answer, Call, Route } from './route.js';
import { type Schema, ref } from './schema.js';

type GivenDueTime = Exclude<PublishOptions['deliverAt'], Date> | string;

interface GivenMessage extends Omit<PublishOptions, 'deliverAt'> {
  readonly payload: unknown;
  readonly deliverAt?: GivenDueTime;
}

/** A message by its id may need its key as well. */
const KEY: Schema = {
  type: 'object',
  properties: { key: { type: 'string', description: 'Its key, if it was published with one.' } },
  additionalProperties: false,
};

const TAG: Schema = {
  type: 'object',
  properties: { tag: { type: 'string', description: 'What the messages carry.' } },
  required: ['tag'],
  additionalProperties: false,
};

export const MESSAGE_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/topics/{topic}/messages',
    name: 'publish',
    summary: 'Publish a message, or many',
    description:
      'All messages are checked before the first is stored. If some of many are refused then, such as since their ids exist, the ' +
      'others are published, and the answer has a result for each in their order.',
    right: 'publish',
    body: { oneOf: [ref('NewMessages'), ref('NewMessage')] },
    isRepeatable: true,
    answers: {
      201: {
        description: 'It was published, or all were.',
        schema: { oneOf: [ref('PublishedMessage'), ref('PublishedMessages')] },
      },
      207: { description: 'Some of many were refused.', schema: ref('PublishResults') },
    },
    problems: ['SERIALIZATION', 'INVALID_PAYLOAD', 'PAYLOAD_TOO_LARGE', 'DUPLICATE_MESSAGE', 'NOT_REPLICATED'],
    run: async (call) => {
      const body = call.body as GivenMessage | { readonly messages: readonly GivenMessage[] };
      const topic = (await call.topic(call.path['topic'] as string, 'publish')) as Topic<unknown>;
      if ('messages' in body) return publishMany(call, topic, body.messages);
      const { payload, options } = toMessage(call, body, 0);
      return { status: 201, content: await producerOf(call).publish(topic, payload, options) };
    },
  },
  {
    method: 'GET',
    path: '/v1/topics/{topic}/messages/{id}',
    name: 'getMessage',
    summary: 'Look a message up',
    right: 'read',
    query: KEY,
    answers: { 200: { description: 'The message as it is stored.', schema: ref('Message') } },
    problems: ['MESSAGE_NOT_FOUND'],
    run: async (call) => {
      const { topic, id } = call.path as { topic: string; id: string };
      const found = await call.queues.admin.get(topic, nameOf(call));
      if (!found) throw refusal('MESSAGE_NOT_FOUND', `Topic '${topic}' has no message with id ${describe(id)}.`);
      const { raw: _, ...message } = found;
      const { dueAt = message.state === 'scheduled' ? message.at : undefined } = message;
      return { status: 200, content: { ...message, dueAt } };
    },
  },
  {
    method: 'DELETE',
    path: '/v1/topics/{topic}/messages/{id}',
    name: 'cancelMessage',
    summary: 'Cancel a message',
    right: 'publish',
    query: KEY,
    isRepeatable: true,
    answers: { 200: { description: 'What became of it.', schema: ref('CancelResult') } },
    problems: [],
    run: async (call) => {
      const cancelled = { action: 'cancel', hasChanged: (result: string) => result !== 'not-found' } as const;
      const result = await changed(call, cancelled, async (topic) => producerOf(call).cancel(topic, nameOf(call)));
      return { status: 200, content: { result } };
    },
  },
  {
    method: 'DELETE',
    path: '/v1/topics/{topic}/messages',
    name: 'cancelTagged',
    summary: 'Cancel all messages that carry a tag',
    right: 'publish',
    query: TAG,
    isRepeatable: true,
    answers: { 200: { description: 'How many.', schema: ref('TagCancelResult') } },
    problems: [],
    run: async (call) => {
      const { tag } = call.query as { tag: string };
      const cancelled = { action: 'cancelTagged', hasChanged: hasCancelled } as const;
      const content = await changed(call, cancelled, async (topic) => producerOf(call).cancelTagged(topic, tag));
      return { status: 200, content };
    },
  },
  {
    method: 'PATCH',
    path: '/v1/topics/{topic}/messages/{id}',
    name: 'rescheduleMessage',
    summary: 'Move a message that waits to another time',
    right: 'publish',
    query: KEY,
    body: ref('Reschedule'),
    isRepeatable: true,
    answers: {
      200: {
        description: 'Whether it was moved; not if there is none, or it is in flight or a dead letter.',
        schema: ref('RescheduleResult'),
      },
    },
    problems: [],
    run: async (call) => {
      const when = toDue(call.body as { deliverAt?: GivenDueTime }) as { delay: string };
      const moved = { action: 'reschedule', given: when, hasChanged: Boolean } as const;
      const rescheduled = await changed(call, moved, async (topic) =>
        producerOf(call).reschedule(topic, nameOf(call), when),
      );
      return { status: 200, content: { rescheduled } };
    },
  },
  {
    method: 'GET',
    path: '/v1/topics/{topic}/messages/{id}/explain',
    name: 'explainMessage',
    summary: 'Say why a message has not run, or what became of it',
    right: 'read',
    query: KEY,
    answers: { 200: { description: 'One cause, the facts, and what to do.', schema: ref('Explanation') } },
    problems: [],
    run: async (call) => {
      const explanation = await call.queues.admin.explain(call.path['topic'] as string, nameOf(call));
      const { cause, facts } = explanation;
      if (cause !== 'unknown-id') return { status: 200, content: explanation };
      // The admin's advice may name a topic that is not served.
      const advice = `Topic '${facts.topic}' has no such message: it was handled, cancelled or removed, or was never published.`;
      return { status: 200, content: { ...explanation, advice } };
    },
  },
];

interface Changed<T> extends Pick<Audited<T>, 'action' | 'hasChanged'> {
  /** Beside the message, or the tag. */
  readonly given?: object;
}

/** Changes something, and writes it down once if there was anything to change. */
async function changed<T>(
  { queues, path, query, once, actor }: Call,
  { given, ...audited }: Changed<T>,
  change: (topic: string) => Promise<T>,
): Promise<T> {
  const { topic, ...which } = path as { topic: string };
  const about = () => ({ topic, actor, given: { ...which, ...query, ...given } });
  return queues.admin.audited({ ...audited, about, once }, async () => change(topic));
}

function hasCancelled({ cancelled, inFlight }: { cancelled: number; inFlight: number }): boolean {
  return cancelled + inFlight > 0;
}

async function publishMany(call: Call, topic: Topic<unknown>, given: readonly GivenMessage[]): Promise<Answer> {
  const messages = given.map((message, i) => toMessage(call, message, i));
  try {
    return { status: 201, content: { messages: await producerOf(call).publishMany(topic, messages) } };
  } catch (error) {
    if (!(error instanceof PublishManyError)) throw error;
    if (isUnavailable(error.results)) throw (error.results[0] as PromiseRejectedResult).reason;
    return { status: 207, content: { messages: error.results.map((result) => toResult(call, result)) } };
  }
}

/** Whether all have failed for the same reason, which passes: then it is the request that is to be sent again. */
function isUnavailable(results: PublishManyError['results']): boolean {
  const problems = results.map((result) => (result.status === 'rejected' ? toProblem(result.reason) : undefined));
  const [first] = problems;
  return first?.status === 503 && problems.every((problem) => problem?.code === first.code);
}

function toResult(call: Call, result: PromiseSettledResult<PublishedMessage>): unknown {
  if (result.status === 'fulfilled') return result.value;
  const problem = toProblem(result.reason);
  if (problem.code === 'INTERNAL') call.log.error(`A message could not be published: ${String(result.reason)}`);
  return { error: problem };
}

/** A message that has no id gets one if the operation may be asked for again. */
function toMessage(
  { once }: Call,
  { payload, ...given }: GivenMessage,
  place: number,
): { payload: unknown; options: PublishOptions } {
  const options = toDue(given);
  if (once === undefined || options.id !== undefined) return { payload, options };
  return {
    payload,
    options: { ...options, id: messageIdOf(once, place), onDuplicate: options.onDuplicate ?? 'ignore' },
  };
}

/** A time in ISO 8601 is a `Date` to the library. */
function toDue<T extends { readonly deliverAt?: GivenDueTime }>(
  given: T,
): Omit<T, 'deliverAt'> & Pick<PublishOptions, 'deliverAt'> {
  const { deliverAt, ...rest } = given;
  if (deliverAt === undefined) return rest;
  return { ...rest, deliverAt: typeof deliverAt === 'string' ? timeOf('deliverAt', deliverAt) : deliverAt };
}

/** @throws InvalidArgumentError */
export function timeOf(name: string, text: string): number {
  const time = isoToEpoch(text);
  if (time !== undefined) return time;
  throw new InvalidArgumentError(
    `${name} must be ISO 8601 with its zone, such as '2026-12-24T18:00:00Z', or epoch milliseconds. Given: ${describe(text)}.`,
  );
}

function producerOf({ queues: { producer }, once }: Call): DelayQueueProducer {
  return once === undefined ? producer : producer.once(once);
}

function nameOf({ path, query }: Call): string | { id: string; key: string } {
  const id = path['id'] as string;
  const { key } = query;
  return key === undefined ? id : { id, key };
}
