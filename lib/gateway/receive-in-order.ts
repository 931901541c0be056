import type { DelayQueueReceiver, ReceivedMessage, ReceiveOptions, TopicRef } from '../index.js';
import { ROOM, Room, type Sharing } from '../consumer/pulling/room.js';
import { ReceiverUnavailableError } from '../errors/operation.errors.js';

/** Options of an ordered receive; times in milliseconds. */
export interface OrderedReceive extends Omit<ReceiveOptions, 'wait'>, Sharing {
  readonly max: number;
  readonly wait: number;
  readonly signal: AbortSignal;
}

/**
 * Receives from several topics in order of precedence: messages that are due now are taken in the order of the topics. If there are none, it
 * waits for all topics at the same time, and the first that has messages ends the wait.
 *
 * @param topics at least one, each once
 * @throws errors of `DelayQueueReceiver.receive()`, unless another topic has returned messages
 */
export async function receiveInOrder(
  receiver: Pick<DelayQueueReceiver, 'receive'>,
  topics: readonly TopicRef[],
  options: OrderedReceive,
): Promise<ReceivedMessage[]> {
  const receive = answeredAtShutdown(receiver);
  const [topic] = topics as [TopicRef];
  if (topics.length === 1) return receive(topic, options);
  const startedAt = performance.now();
  const received = await receiveNow(receive, topics, options);
  const wait = Math.floor(options.wait - (performance.now() - startedAt));
  return received.length > 0 || wait <= 0 ? received : receiveFirst(receive, topics, { ...options, wait });
}

type Receive = (topic: TopicRef, options: OrderedReceive) => Promise<ReceivedMessage[]>;

/** Answers a client that has already waited when the process begins to shut down, instead of refusing it. */
function answeredAtShutdown(receiver: Pick<DelayQueueReceiver, 'receive'>): Receive {
  let hasWaited = false;
  return async (topic, options) => {
    try {
      return await receiver.receive<unknown>(topic, options);
    } catch (error) {
      if (hasWaited && error instanceof ReceiverUnavailableError) return [];
      throw error;
    } finally {
      hasWaited = true;
    }
  };
}

async function receiveNow(
  receive: Receive,
  topics: readonly TopicRef[],
  options: OrderedReceive,
): Promise<ReceivedMessage[]> {
  const received: ReceivedMessage[] = [];
  for (const topic of topics) {
    const max = options.max - received.length;
    if (max === 0) break;
    try {
      received.push(...(await receive(topic, { ...options, max, wait: 0 })));
    } catch (error) {
      if (received.length === 0) throw error;
      break;
    }
  }
  return received;
}

async function receiveFirst(
  receive: Receive,
  topics: readonly TopicRef[],
  options: OrderedReceive,
): Promise<ReceivedMessage[]> {
  const ends = topics.map(() => new AbortController());
  // Several topics can have messages at the same moment, and those acknowledged before they are handed over cannot be given back.
  const room = new Room(options.max);
  const answers = await Promise.allSettled(
    topics.map(async (topic, place) => {
      const own = (ends[place] as AbortController).signal;
      const signal = AbortSignal.any([options.signal, own]);
      try {
        const messages = await receive(topic, { ...options, signal, [ROOM]: room });
        if (messages.length > 0) endBut(ends, place);
        return messages;
      } catch (error) {
        if (own.aborted) return [];
        endBut(ends, place);
        throw error;
      }
    }),
  );
  const received = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (received.length === 0 && failed) throw failed.reason;
  return received;
}

function endBut(ends: readonly AbortController[], place: number): void {
  ends.forEach((end, i) => i !== place && end.abort());
}
