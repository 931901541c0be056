import { from } from 'rxjs';
import type { TopicOptions } from '../../../lib/composition/delay-queue-options.interface.js';
import type { DelayQueueConnection } from '../../../lib/composition/delay-queue.connection.js';
import type { MessageHandler } from '../../../lib/consumer/message-handler.interface.js';
import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import type { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';
import { HANDLERS, type HandlerName, LEASE, RECURRING, type SimulatedHandler, TOPICS } from '../fleet/topics.js';
import { handleBatch, handleMessage } from './handling.js';
import { asOccurrence } from './schedules.js';

type Called = (messages: readonly DelayedMessage[]) => Promise<unknown>;

/** The handlers of a process, but for those that its options make. */
export function handlersOf(scene: Scene, process: Process, { options }: DelayQueueConnection): MessageHandler[] {
  const { product } = process;
  return Object.entries(HANDLERS).flatMap(([name, handler]: [string, SimulatedHandler]): MessageHandler[] => {
    const topics = topicsOf(scene, name);
    if (topics.length === 0 || handler.forwards) return [];
    const settings = topics.map((topic) => ({
      topic,
      schema: undefined,
      settings: product.handlerSettings(options.topicSettings(topic), { lease: LEASE }),
    }));
    const { concurrency, batch } = handler;
    return [{ name, concurrency, batch, topics: settings, handle: callOf(scene, process, name) }];
  });
}

/** The options of the topics that a process forwards. */
export function forwardsOf(scene: Scene, process: Process): Record<string, TopicOptions> {
  const name: HandlerName = 'Client';
  const { concurrency } = HANDLERS[name];
  const call = callOf(scene, process, name);
  const client = { emit: (_: unknown, message: unknown) => from(call([message as DelayedMessage])) };
  const forward = { client, pattern: name, concurrency, data: (message: unknown) => message };
  return Object.fromEntries(topicsOf(scene, name).map((topic) => [topic, { ...TOPICS[topic]?.options, forward }]));
}

function topicsOf({ topics }: Scene, name: string): string[] {
  return topics.filter((topic) => {
    const { received, handler = 'Orders' } = TOPICS[topic] ?? {};
    return !received && handler === name;
  });
}

function callOf(scene: Scene, process: Process, name: string): Called {
  const { rules } = scene;
  const { batch, concurrency }: SimulatedHandler = HANDLERS[name as HandlerName];
  return async (messages) => {
    // A process that is gone does nothing, and nobody waits for it.
    if (process.isDead) return new Promise(() => {});
    const end = rules.called(process, { name, batch, concurrency }, messages);
    try {
      if (batch !== undefined) return await handleBatch(scene, process, messages);
      const [message] = messages as [DelayedMessage];
      return await handleMessage(scene, process, message.topic === RECURRING ? asOccurrence(message) : message);
    } finally {
      end();
    }
  };
}
