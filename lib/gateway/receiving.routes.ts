import { MAX_DELAY, MIN_LEASE } from '../checks/limits.js';
import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { TopicRef } from '../messages/topic.js';
import type { ReceiptSettlement } from '../receiver/delay-queue.receiver.js';
import { decodeReceipt } from '../receiver/receipts.js';
import type { ReceiptOutcome, ReceivedMessage } from '../receiver/received-message.js';
import { type Duration, parseDuration } from '../time/duration.js';
import { MAX_WAIT } from './limits.js';
import type { Answer, Call, Route } from './route.js';
import { ref } from './schema.js';

interface GivenReceive {
  readonly max?: number;
  readonly wait?: Duration;
  readonly lease?: Duration;
}

interface GivenSettlement {
  readonly receipt: string;
  readonly outcome: 'ack' | 'retry' | 'dead' | 'release';
  readonly delay?: Duration;
  readonly reason?: string;
}

interface GivenExtension {
  readonly receipt: string;
  readonly lease: Duration;
}

const RECEIVED = {
  200: { description: 'The messages; none if none was due in time.', schema: ref('ReceivedMessages') },
} as const;

export const RECEIVING_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/topics/{topic}/receive',
    name: 'receive',
    summary: 'Wait for messages of a topic',
    description:
      'Answers as soon as there are messages, and after `wait` at the latest. What is received and not settled comes again when its ' +
      'lease ends. What was taken for a client that disconnects while it waits is released at once.',
    right: 'receive',
    body: ref('Receive'),
    isBodyOptional: true,
    answers: RECEIVED,
    problems: ['TOO_MANY_WAITING'],
    run: async (call) => {
      const topic = await call.topic(call.path['topic'] as string, 'receive');
      const given: GivenReceive = call.body ?? {};
      return receive(call, topic, given);
    },
  },
  {
    method: 'POST',
    path: '/v1/receive',
    name: 'receiveFrom',
    summary: 'Wait for messages of several topics, the earlier ones first',
    right: 'receive',
    body: ref('ReceiveFrom'),
    answers: RECEIVED,
    problems: ['TOO_MANY_WAITING'],
    run: async (call) => {
      const { topics, ...given } = call.body as GivenReceive & { readonly topics: readonly string[] };
      const refs: TopicRef[] = [];
      for (const topic of topics) refs.push(await call.topic(topic, 'receive'));
      return receive(call, refs, given);
    },
  },
  {
    method: 'POST',
    path: '/v1/settle',
    name: 'settle',
    summary: 'Settle received messages',
    description:
      'The first settlement of a receipt counts. A later one is `stale` and changes nothing, unless it is the same request with the ' +
      'same Idempotency-Key.',
    right: 'receive',
    body: { oneOf: [ref('Settlements'), ref('Settlement')] },
    isRepeatable: true,
    answers: {
      200: { description: 'What became of each.', schema: { oneOf: [ref('SettleResult'), ref('SettleResults')] } },
    },
    problems: [],
    run: async (call) => {
      const { queues, once } = call;
      const { given, naming, answer } = await receiptsOf<GivenSettlement>(call, 'settlements');
      const settlements = given.map((one, i) => naming(i, () => toSettlement(one)));
      return answer(await queues.receiver.settleMany(settlements, once === undefined ? {} : { once }));
    },
  },
  {
    method: 'POST',
    path: '/v1/extend',
    name: 'extend',
    summary: 'Extend the leases of received messages',
    right: 'receive',
    body: { oneOf: [ref('Extensions'), ref('Extension')] },
    answers: {
      200: { description: 'What became of each.', schema: { oneOf: [ref('ExtendResult'), ref('ExtendResults')] } },
    },
    problems: [],
    run: async (call) => {
      const { given, naming, answer } = await receiptsOf<GivenExtension>(call, 'extensions');
      given.forEach(({ lease }, i) =>
        naming(i, () => parseDuration('lease', lease, { min: MIN_LEASE, max: MAX_DELAY })),
      );
      const { receiver } = call.queues;
      return answer(await Promise.all(given.map(async ({ receipt, lease }) => receiver.extend(receipt, lease))));
    },
  },
];

async function receive(
  call: Call,
  topic: TopicRef | readonly TopicRef[],
  { wait = '20s', max, lease }: GivenReceive,
): Promise<Answer> {
  const { receiver } = call.queues;
  const options = {
    wait: parseDuration('wait', wait, { max: MAX_WAIT }),
    ...(max === undefined ? {} : { max }),
    ...(lease === undefined ? {} : { lease }),
  };
  const received = await call.wait(async (signal) => receiver.receive<TopicRef>(topic, { ...options, signal }));
  const texts: string[] = [];
  const messages = received.filter((message) => {
    try {
      return texts.push(JSON.stringify(shown(message)));
    } catch (error) {
      giveUp(call, message, error);
      return false;
    }
  });
  const release = async (): Promise<void> => {
    const leased = messages.filter(({ leaseEndsAt }) => leaseEndsAt);
    if (leased.length < messages.length) {
      call.log.error(
        `${messages.length - leased.length} messages are lost: who received them has gone, and they are delivered at most once.`,
      );
    }
    await receiver.settleMany(leased.map(({ receipt }) => ({ receipt, outcome: 'release' })));
  };
  return {
    status: 200,
    content: undefined,
    text: `{"messages":[${texts.join(',')}]}`,
    onLost: () => {
      if (messages.length === 0) return;
      release().catch((error: unknown) => {
        call.log.warn(`Messages whose receiver has gone come again when their leases end: ${String(error)}`);
      });
    },
  };
}

/** Nobody can ever receive it here: those that came with it must not suffer. */
function giveUp({ queues, log }: Call, { id, topic, receipt, leaseEndsAt }: ReceivedMessage, error: unknown): void {
  const reason = new Error(`The gateway cannot write the payload as JSON: ${String(error)}`, { cause: error });
  log.error(`Message ${describe(id)} of topic '${topic}' cannot be received. ${reason.message}`);
  if (!leaseEndsAt) return;
  queues.receiver.settle(receipt, { outcome: 'dead', reason }).catch((failure: unknown) => {
    log.warn(`Message ${describe(id)} of topic '${topic}' comes again when its lease ends: ${String(failure)}`);
  });
}

function shown(message: ReceivedMessage): unknown {
  const {
    id,
    topic,
    partition,
    key,
    payload,
    headers,
    attempt,
    maxAttempts,
    publishedAt,
    dueAt,
    leaseEndsAt,
    receipt,
  } = message;
  return {
    id,
    topic,
    partition,
    key,
    // A schema or a serializer may make nothing of it.
    payload: payload ?? null,
    headers,
    attempt,
    maxAttempts,
    publishedAt,
    dueAt,
    leaseEndsAt: leaseEndsAt ?? null,
    receipt,
  };
}

/** Says in an error which of many it is about. */
type Naming = <T>(place: number, check: () => T) => T;

/** What is to be done for one receipt, or for each of many. */
interface GivenReceipts<T> {
  readonly given: readonly T[];
  readonly naming: Naming;
  /** @param statuses one for each, in their order */
  readonly answer: (statuses: readonly string[]) => Answer;
}

/** @throws InvalidArgumentError, or a Refusal if whoever asks may not receive from all their topics */
async function receiptsOf<T extends { readonly receipt: string }>(
  call: Call,
  property: string,
): Promise<GivenReceipts<T>> {
  const body = call.body as T & Readonly<Record<string, readonly T[]>>;
  const many = body[property];
  const given = many ?? [body];
  const naming: Naming = (place, check) => (many ? named(`${property}[${place}]`, check) : check());
  const topics = given.map(({ receipt }, i) => naming(i, () => decodeReceipt(receipt)).partition.topic);
  for (const topic of new Set(topics)) await call.topic(topic, 'receive');
  const answer = (statuses: readonly string[]): Answer => {
    const results = given.map(({ receipt }, i) => ({ receipt, status: statuses[i] }));
    return { status: 200, content: many ? { results } : results[0] };
  };
  return { given, naming, answer };
}

function named<T>(place: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new InvalidArgumentError(`${place}: ${error.message}`, { cause: error });
  }
}

/** @throws InvalidArgumentError */
function toSettlement({ receipt, outcome, delay, reason }: GivenSettlement): ReceiptSettlement {
  if (delay !== undefined && outcome !== 'retry') throw misplaced('delay', 'retry');
  if (reason !== undefined && outcome !== 'retry' && outcome !== 'dead') throw misplaced('reason', "retry' or 'dead");
  return { receipt, outcome: toOutcome({ outcome, delay, reason }) };
}

function toOutcome({
  outcome,
  delay,
  reason,
}: {
  outcome: GivenSettlement['outcome'];
  delay: Duration | undefined;
  reason: string | undefined;
}): ReceiptOutcome {
  if (outcome === 'retry') return { outcome, error: reason, delay };
  return outcome === 'dead' ? { outcome, reason } : outcome;
}

function misplaced(property: string, outcome: string): InvalidArgumentError {
  return new InvalidArgumentError(`${property} goes with the outcome '${outcome}' alone. Leave it out.`);
}
