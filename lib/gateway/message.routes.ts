import type { ActionOptions } from '../admin/index.js';
import type {
  CancelResult,
  DelayQueueProducer,
  MessageRef,
  PublishedMessage,
  PublishOptions,
  RescheduleResult,
  TopicRef,
  WrittenToOutbox,
} from '../index.js';
import { describe } from '../checks/describe.js';
import { OPERATION, type Repeatable } from '../messages/operation.js';
import { PublishManyError } from '../messages/publish-many.error.js';
import { topicName } from '../messages/topic.js';
import { messageIdOf } from './idempotency.js';
import { type Problem, refusal, toProblem } from './problem.js';
import { KeyQuery, type NewMessage, PublishBody, RescheduleBody, TagQuery } from './request-schemas.js';
import { type Answer, type Call, type Route, itsTopic, route } from './route.js';

export const MESSAGE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/topics/{topic}/messages',
    name: 'publish',
    summary: 'Publish a message, or many',
    description:
      'All messages are checked before the first is stored. If some of many are refused then, such as since their ids exist, the ' +
      'others are published, and the answer has a result for each in their order.',
    right: 'publish',
    body: PublishBody,
    isRepeatable: true,
    answers: {
      201: { description: 'It was published, or all were.', of: ['PublishedMessage', 'PublishedMessages'] },
      207: { description: 'Some of many were refused.', of: ['PublishResults'] },
    },
    problems: ['INVALID_PAYLOAD', 'PAYLOAD_TOO_LARGE', 'DUPLICATE_MESSAGE', 'NOT_REPLICATED'],
    sees: itsTopic,
    async run(call) {
      const { body, queues, seen: topic } = call;
      if ('messages' in body) return publishMany(call, body.messages);
      const { payload, options } = toPublish(call, body, 0);
      return { status: 201, content: await queues.producer.publish(topic as string, payload, options) };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/topics/{topic}/messages/{id}',
    name: 'getMessage',
    summary: 'Look a message up',
    right: 'read',
    query: KeyQuery,
    answers: { 200: { description: 'The message as it is stored.', of: ['Message'] } },
    problems: ['MESSAGE_NOT_FOUND'],
    sees: itsTopic,
    async run(call) {
      const { queues, seen: topic, id } = call;
      const found = await queues.admin.get(topic, refOf(call));
      if (!found) {
        throw refusal('MESSAGE_NOT_FOUND', `Topic '${topicName(topic)}' has no message with id ${describe(id)}.`);
      }
      const { raw: _, ...message } = found;
      return { status: 200, content: message };
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/topics/{topic}/messages/{id}',
    name: 'cancelMessage',
    summary: 'Cancel a message',
    right: 'publish',
    query: KeyQuery,
    answers: { 200: { description: 'What became of it.', of: ['CancelResult'] } },
    problems: [],
    sees: itsTopic,
    async run(call) {
      const { seen: topic, by } = call;
      return { status: 200, content: { result: await changesBy(call).cancel(topic, refOf(call), by) } };
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/topics/{topic}/messages',
    name: 'cancelTagged',
    summary: 'Cancel all messages that carry a tag',
    right: 'publish',
    query: TagQuery,
    answers: { 200: { description: 'How many.', of: ['CancelTaggedResult'] } },
    problems: [],
    sees: itsTopic,
    run: async ({ queues, seen: topic, query, by }) => ({
      status: 200,
      content: await queues.producer.cancelTagged(topic, query.tag, by),
    }),
  }),
  route({
    method: 'PATCH',
    path: '/v1/topics/{topic}/messages/{id}',
    name: 'rescheduleMessage',
    summary: 'Move a message that waits to another time',
    right: 'publish',
    query: KeyQuery,
    body: RescheduleBody,
    answers: { 200: { description: 'Whether it was moved, or why not.', of: ['RescheduleResult'] } },
    problems: [],
    sees: itsTopic,
    async run(call) {
      const { seen: topic, body, by } = call;
      return { status: 200, content: { result: await changesBy(call).reschedule(topic, refOf(call), body, by) } };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/topics/{topic}/messages/{id}/explain',
    name: 'explainMessage',
    summary: 'Say why a message has not run, or what became of it',
    right: 'read',
    query: KeyQuery,
    answers: { 200: { description: 'One cause, the facts, and what to do.', of: ['Explanation'] } },
    problems: [],
    sees: itsTopic,
    async run(call) {
      const { queues, seen: topic } = call;
      const explanation = await queues.admin.explain(topic, refOf(call));
      if (explanation.cause !== 'unknown-id') return { status: 200, content: explanation };
      // The admin's advice may name a topic that is not served.
      const advice = `Topic '${topicName(topic)}' has no such message: it was handled, cancelled or removed, or was never published.`;
      return { status: 200, content: { ...explanation, advice } };
    },
  }),
];

/** A request is no part of a transaction of this process, whatever its code is. */
const OUTSIDE = { outbox: false };

/** A request about messages of one topic. */
type TopicCall<Q = unknown> = Call<unknown, Q, TopicRef>;

/** Changes to a message that a producer and an operator have in common. */
interface Changes {
  cancel(topic: TopicRef, ref: MessageRef, options: ActionOptions): Promise<CancelResult | 'done' | WrittenToOutbox>;
  reschedule(
    topic: TopicRef,
    ref: MessageRef,
    when: Parameters<DelayQueueProducer['reschedule']>[2],
    options: ActionOptions,
  ): Promise<RescheduleResult | 'done' | WrittenToOutbox>;
}

/** Records changes in the audit log if the sender has a name; the others are the work of an application. */
function changesBy({ queues, by }: TopicCall): Changes {
  const { admin, producer } = queues;
  if (by.actor !== undefined) return admin;
  return {
    cancel: async (topic, ref) => producer.cancel(topic, ref, OUTSIDE),
    reschedule: async (topic, ref, when) => producer.reschedule(topic, ref, when, OUTSIDE),
  };
}

async function publishMany(call: TopicCall, given: readonly NewMessage[]): Promise<Answer> {
  const messages = given.map((message, i) => toPublish(call, message, i));
  try {
    return {
      status: 201,
      content: { messages: await call.queues.producer.publishMany(call.seen, messages) },
    };
  } catch (error) {
    if (!(error instanceof PublishManyError)) throw error;
    const results = error.results.map((result) => toResult(call, result));
    const [first] = results;
    // A transient reason is that of the whole request, which has to be sent again.
    if (results.every((one) => 'error' in one && one.error.status === 503 && sameCode(one, first))) {
      throw (error.results[0] as PromiseRejectedResult).reason;
    }
    return { status: 207, content: { messages: results } };
  }
}

type Result = PublishedMessage | { readonly error: Problem };

function sameCode({ error }: { readonly error: Problem }, other: Result | undefined): boolean {
  return other !== undefined && 'error' in other && other.error.code === error.code;
}

function toResult({ log }: TopicCall, result: PromiseSettledResult<PublishedMessage>): Result {
  if (result.status === 'fulfilled') return result.value;
  const problem = toProblem(result.reason);
  if (problem.code === 'INTERNAL') log.error(`A message could not be published: ${String(result.reason)}`);
  return { error: problem };
}

/** Gives a message without an id one if the operation can be requested again. */
function toPublish(
  { operation }: TopicCall,
  { payload, ...given }: NewMessage,
  place: number,
): { payload: unknown; options: PublishOptions & Repeatable } {
  const options: PublishOptions = { ...(given as PublishOptions), ...OUTSIDE };
  if (operation === undefined) return { payload, options };
  const { id = messageIdOf(operation, place), onDuplicate = options.id === undefined ? 'ignore' : 'reject' } = options;
  return { payload, options: { ...options, id, onDuplicate, [OPERATION]: operation } };
}

function refOf({ id, query: { key } }: TopicCall<{ readonly key?: string | undefined }>): MessageRef {
  return key === undefined ? id : { id, key };
}
