import { ReceiverUnavailableError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import type { DelayQueueReceiver, ReceiveOptions } from '../../../lib/consumer/delay-queue.receiver.js';
import type { ReceivedMessage } from '../../../lib/consumer/pulling/received-message.js';
import { ROOM, type Sharing } from '../../../lib/consumer/pulling/room.js';
import { receiveInOrder } from '../../../lib/gateway/receive-in-order.js';

/** What `receive()` answers for a topic, by whether it waits. */
type Answers = (
  topic: string,
  options: ReceiveOptions & Sharing & { readonly wait: number },
) => Promise<readonly object[]>;

function message(topic: string) {
  return { topic };
}

async function receive(answers: Answers, { topics = ['a', 'b'], max = 1, wait = 60_000 } = {}) {
  const receiver = { receive: answers } as unknown as DelayQueueReceiver;
  const received = await receiveInOrder(receiver, topics, { max, wait, signal: new AbortController().signal });
  return received.map(({ topic }: ReceivedMessage) => topic);
}

/** Waits until another topic has given something. */
async function untilEnded({ signal }: ReceiveOptions): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('aborted')));
  });
}

/** As many as there is room for. */
const twoOfEach: Answers = async (topic, { wait, [ROOM]: room }) =>
  wait === 0 ? [] : [message(topic), message(topic)].slice(0, room?.take(2));

async function broken(): Promise<never> {
  throw new Error('handled here');
}

async function refused(): Promise<never> {
  throw new ReceiverUnavailableError('It shuts down');
}

describe('receiveInOrder()', () => {
  it('takes what is due in the order of the topics, and no more than is wanted', async () => {
    const asked: unknown[] = [];
    const due: Answers = async (topic, { max = 1, wait }) => {
      asked.push([topic, max, wait]);
      return [message(topic), message(topic)].slice(0, max);
    };
    expect(await receive(due, { topics: ['a', 'b', 'c'], max: 3 })).toEqual(['a', 'a', 'b']);
    expect(asked).toEqual([
      ['a', 3, 0],
      ['b', 1, 0],
    ]);
  });

  it('waits for all of them at once, and ends the wait for the others when one has something', async () => {
    expect(
      await receive(async (topic, options) => {
        if (options.wait === 0) return [];
        return topic === 'b' ? [message('b')] : untilEnded(options);
      }),
    ).toEqual(['b']);
  });

  it('has all topics share the room that there is, since several may have something at the same moment', async () => {
    expect(await receive(twoOfEach, { topics: ['a', 'b', 'c'], max: 3 })).toEqual(['a', 'a', 'b']);
  });

  it('gives what one has although another cannot be received from, and fails if none has anything', async () => {
    expect(await receive(async (topic) => (topic === 'b' ? broken() : [message('a')]), { max: 2 })).toEqual(['a']);
    await expect(receive(async (_, { wait }) => (wait === 0 ? [] : broken()))).rejects.toThrow('handled here');
  });

  it('answers whoever waits already when the process shuts down, and refuses who comes then', async () => {
    expect(await receive(async (topic) => (topic === 'a' ? [] : refused()))).toEqual([]);
    await expect(receive(refused)).rejects.toThrow(ReceiverUnavailableError);
  });
});
