import { DelayQueueReceiver, type ReceiveOptions, type ReceivedMessage } from 'nestjs-delay-queue';
import type { Bed, RunningApp } from './bed.js';

/** What tests of receiving receive from. */
export const TOPIC = 'jobs';

/** Short enough for a test to wait for its end; milliseconds. */
export const LEASE = 1000;

/** An application that receives, with four partitions a topic. */
export async function startReceiving(
  bed: Bed,
  topics: Record<string, object> = {},
): Promise<{ app: RunningApp; receiver: DelayQueueReceiver }> {
  const app = await bed.start({ options: { defaults: { partitions: 4 }, topics } });
  return { app, receiver: app.get(DelayQueueReceiver) };
}

/** Receives one message, which has to come. */
export async function receiveOne(receiver: DelayQueueReceiver, options: ReceiveOptions = {}): Promise<ReceivedMessage> {
  const messages = await receiver.receive(TOPIC, { wait: '5s', lease: LEASE, ...options });
  const [message] = messages;
  if (!message || messages.length > 1) throw new Error(`${messages.length} messages were received.`);
  return message;
}
