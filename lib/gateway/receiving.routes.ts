import { describe } from '../checks/describe.js';
import { MIN_LEASE } from '../checks/limits.js';
import { duration } from '../checks/rules.js';
import { decodeReceipt } from '../consumer/pulling/receipt.js';
import { checkedOutcome } from '../consumer/pulling/received-outcome.js';
import type { ReceivedMessage, ReceivedOutcome, TopicRef } from '../index.js';
import { UnrecoverableError } from '../errors/handling.errors.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { OPERATION } from '../messages/operation.js';
import type { ReceivedMessage as ReceivedFields } from './answers.js';
import { receiveInOrder } from './receive-in-order.js';
import {
  ExtendBody,
  type Extension,
  ReceiveBody,
  ReceiveFromBody,
  SettleBody,
  type Settlement,
} from './request-schemas.js';
import { type Answer, type Asked, type Call, type Route, itsTopic, route } from './route.js';

const RECEIVED = {
  200: { description: 'The messages; none if none was due in time.', of: ['ReceivedMessages'] },
} as const;

const LEASE = duration(MIN_LEASE);

/** Time for which a message that cannot be written as JSON is put off, in milliseconds. */
const PUT_OFF = 5 * 60_000;

export const RECEIVING_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/topics/{topic}/receive',
    name: 'receive',
    summary: 'Wait for messages of a topic',
    description:
      'Answers as soon as there are messages, and after `wait` at the latest. What is received and not settled comes again when its ' +
      'lease ends. What was taken for a client that disconnects while it waits is released at once.',
    right: 'receive',
    body: ReceiveBody,
    isBodyOptional: true,
    answers: RECEIVED,
    problems: ['TOO_MANY_WAITING', 'RECEIVER_UNAVAILABLE'],
    sees: itsTopic,
    run: async (call) => receive(call, [call.seen], call.body),
  }),
  route({
    method: 'POST',
    path: '/v1/receive',
    name: 'receiveFrom',
    summary: 'Wait for messages of several topics, the earlier ones first',
    right: 'receive',
    body: ReceiveFromBody,
    answers: RECEIVED,
    problems: ['TOO_MANY_WAITING', 'RECEIVER_UNAVAILABLE'],
    async sees({ body, served }) {
      const refs: TopicRef[] = [];
      for (const topic of new Set(body.topics)) refs.push(await served(topic));
      return refs;
    },
    async run(call) {
      const { topics: _, ...given } = call.body;
      return receive(call, call.seen, given);
    },
  }),
  route({
    method: 'POST',
    path: '/v1/settle',
    name: 'settle',
    summary: 'Settle received messages',
    description:
      'The first settlement of a receipt counts. A later one is `stale` and changes nothing, unless it is the same request with the ' +
      'same Idempotency-Key.',
    right: 'receive',
    body: SettleBody,
    isRepeatable: true,
    answers: { 200: { description: 'What became of each.', of: ['SettleResult', 'SettleResults'] } },
    problems: ['RECEIVER_UNAVAILABLE'],
    sees: async (asked) =>
      checkedReceipts(asked, givenIn<Settlement>(asked.body, 'settlements'), (settlement, i) => {
        // A receipt that comes twice is settled twice; the first settlement counts.
        const named = asked.operation === undefined ? undefined : `${asked.operation}.${i}`;
        const outcome = { ...outcomeOf(settlement), [OPERATION]: named };
        checkedOutcome(outcome);
        return outcome;
      }),
    run: async ({ queues, seen }) =>
      answerFor(seen, async (receipt, outcome) => queues.receiver.settle(receipt, outcome)),
  }),
  route({
    method: 'POST',
    path: '/v1/extend',
    name: 'extend',
    summary: 'Extend the leases of received messages',
    right: 'receive',
    body: ExtendBody,
    answers: { 200: { description: 'What became of each.', of: ['ExtendResult', 'ExtendResults'] } },
    problems: ['RECEIVER_UNAVAILABLE'],
    sees: async (asked) =>
      checkedReceipts(asked, givenIn<Extension>(asked.body, 'extensions'), ({ lease }) => LEASE('lease', lease)),
    run: async ({ queues, seen }) => answerFor(seen, async (receipt, lease) => queues.receiver.extend(receipt, lease)),
  }),
];

async function receive(
  call: Call<unknown, unknown, unknown>,
  topics: readonly TopicRef[],
  { wait = 0, max = 1, consumer = call.caller, lease }: ReceiveBody,
): Promise<Answer> {
  const { queues, log } = call;
  const options = { ...(lease !== undefined && { lease }), consumer, max, wait };
  const received = await call.wait(async (signal) => receiveInOrder(queues.receiver, topics, { ...options, signal }));
  const texts: string[] = [];
  const messages = received.filter((message) => {
    try {
      return texts.push(JSON.stringify(shown(message)));
    } catch (error) {
      putOff(call, message, error);
      return false;
    }
  });
  return {
    status: 200,
    content: undefined,
    text: `{"messages":[${texts.join(',')}]}`,
    onLost: () => {
      for (const message of messages) giveBack(message, log);
    },
  };
}

/** Gives a message back whose receiver has gone. */
function giveBack(message: ReceivedMessage, log: Call<unknown, unknown, unknown>['log']): void {
  const what = `message ${describe(message.id)} of topic '${message.topic}'`;
  if (message.lease === 0) {
    log.error(`Lost ${what}: who received it has gone, and it is delivered at most once.`);
    return;
  }
  message.release().catch((error: unknown) => {
    log.warn(
      `Could not release ${what}, whose receiver has gone; it comes again when its lease ends: ${String(error)}`,
    );
  });
}

/** Puts a message off. Nothing is wrong with it: another process can hand it out, and the messages that came with it must not suffer. */
function putOff({ log }: Call<unknown, unknown, unknown>, message: ReceivedMessage, error: unknown): void {
  const what = `message ${describe(message.id)} of topic '${message.topic}'`;
  const why = `the gateway cannot write its payload as JSON: ${String(error)}`;
  if (message.lease === 0) {
    log.error(`Lost ${what}, which is delivered at most once: ${why}`);
    return;
  }
  log.error(`Put off ${what}, since ${why}`);
  message.release(PUT_OFF).catch((failure: unknown) => {
    log.warn(`Could not put off ${what}; it comes again when its lease ends: ${String(failure)}`);
  });
}

function shown(message: ReceivedMessage): ReceivedFields {
  const { id, topic, partition, key, payload, headers, attempt, maxAttempts, lease, receipt } = message;
  const { publishedAt, dueAt } = message;
  // A schema or a serializer can turn a payload into nothing.
  const content = payload ?? null;
  return {
    id,
    topic,
    partition,
    key,
    payload: content,
    headers,
    attempt,
    maxAttempts,
    publishedAt,
    dueAt,
    lease,
    receipt,
  };
}

/** @throws InvalidArgumentError */
function outcomeOf(settlement: Settlement): Exclude<ReceivedOutcome, string> {
  const { receipt: _, error, ...given } = settlement;
  if (error === undefined) return given;
  if (given.reason !== undefined) {
    throw new InvalidArgumentError('A settlement has a reason or an error. Leave one of them out.');
  }
  return { ...given, reason: errorOf(error, given.outcome) };
}

/** Returns the error as it was thrown in another language. */
function errorOf({ name, message, stack }: NonNullable<Settlement['error']>, outcome: Settlement['outcome']): Error {
  const isGivenUp = outcome === 'dead' && name === 'UnrecoverableError';
  const error = isGivenUp ? new UnrecoverableError(message) : new Error(message);
  for (const [property, value] of Object.entries({ name, stack })) Object.defineProperty(error, property, { value });
  return error;
}

/** The items of a request: one receipt, or each of many. */
interface Given<T> {
  readonly all: readonly T[];
  /** Property of the body that has them; `undefined`: the body itself is the only one. */
  readonly property: string | undefined;
}

function givenIn<T extends object>(body: T | Readonly<Record<string, readonly T[]>>, property: string): Given<T> {
  const { [property]: all } = body as Readonly<Record<string, readonly T[] | undefined>>;
  return all ? { all, property } : { all: [body as T], property: undefined };
}

/**
 * Checks all items before anything is done.
 *
 * @param check checks one, and returns what is to be done with it
 * @throws InvalidArgumentError, or a Refusal if the sender is not allowed to receive from all their topics
 */
async function checkedReceipts<T extends { readonly receipt: string }, R>(
  { served }: Pick<Asked<unknown, unknown>, 'served'>,
  { all, property }: Given<T>,
  check: (one: T, place: number) => R,
): Promise<Given<readonly [receipt: string, what: R]>> {
  const topics = new Set<string>();
  const checked = all.map((one, i) => {
    try {
      topics.add(decodeReceipt(one.receipt).partition.topic);
      return [one.receipt, check(one, i)] as const;
    } catch (error) {
      if (!(error instanceof InvalidArgumentError) || property === undefined) throw error;
      throw new InvalidArgumentError(`${property}[${i}]: ${error.message}`, { cause: error });
    }
  });
  for (const topic of topics) await served(topic);
  return { all: checked, property };
}

/** Acts on all of them, which travel together. */
async function answerFor<T>(
  { all, property }: Given<readonly [receipt: string, what: T]>,
  act: (receipt: string, what: T) => Promise<string>,
): Promise<Answer> {
  const results = await Promise.all(
    all.map(async ([receipt, what]) => ({ receipt, status: await act(receipt, what) })),
  );
  return { status: 200, content: property === undefined ? results[0] : { results } };
}
