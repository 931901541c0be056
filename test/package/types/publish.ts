import type { DelayQueueProducer, DelayQueueTopics, Topic, TopicRef } from 'nestjs-delay-queue';
import { type Order, counted, parsed, typed, untyped } from './topics.js';

declare const producer: DelayQueueProducer;
declare const name: string;
declare const anyTopic: TopicRef;
declare const oneOfTwo: Topic<{ a: string }> | Topic<{ b: string }>;

export async function publish(): Promise<void> {
  await producer.publish(typed, { orderId: '42' }, { delay: '30m' });
  // @ts-expect-error an orderId is a text
  await producer.publish(typed, { orderId: 42 });
  // @ts-expect-error an orderId is missing
  await producer.publish(typed, {});
  // @ts-expect-error there is no such property
  await producer.publish(typed, { orderId: '42', count: 1 });
  // @ts-expect-error there is no such option
  await producer.publish(typed, { orderId: '42' }, { dealy: '30m' });
  await producer.publish(typed, { orderId: '42' }, { id: '42', delay: '30m', onDuplicate: 'earliest' });
  await producer.publish(typed, { orderId: '42' }, { id: '42', onDuplicate: 'replace', maxWait: '1h' });
  await producer.publish(typed, { orderId: '42' }, { backoff: { type: 'steps', delays: ['1s', 60_000], jitter: 0.1 } });
  // @ts-expect-error a list of waits, not one
  await producer.publish(typed, { orderId: '42' }, { backoff: { type: 'steps', delays: '1s' } });
  // @ts-expect-error there is no such policy
  await producer.publish(typed, { orderId: '42' }, { id: '42', onDuplicate: 'latest' });

  await producer.publish(parsed, { orderId: '42', at: '2026-01-01T00:00:00Z' });
  // @ts-expect-error what is published is the schema's input, not its output
  await producer.publish(parsed, { orderId: '42', count: 1, at: new Date() });
  await producer.publish(counted, '42');
  // @ts-expect-error the same
  await producer.publish(counted, 42);

  await producer.publish('types.order', { orderId: '42' });
  // @ts-expect-error the map says that an orderId is a text
  await producer.publish('types.order', { orderId: 42 });
  // @ts-expect-error the map says what the payload has
  await producer.publish('types.order', { count: 1 });

  await producer.publish(untyped, 42);
  await producer.publish('types.free', { whatever: 42 });
  await producer.publish(name, 42);
  await producer.publish(anyTopic, 42);

  await producer.publish<Order>('types.free', { orderId: '42' });
  await producer.publish<Order>(name, { orderId: '42' });
  await producer.publish<Order>(typed, { orderId: '42' });
  // @ts-expect-error the payload is none of the type that was stated
  await producer.publish<Order>('types.free', { orderId: 42 });
  // @ts-expect-error the topic is none of the type that was stated
  await producer.publish<{ count: number }>(typed, { count: 1 });

  // @ts-expect-error a payload for one of the two is wrong for the other
  await producer.publish(oneOfTwo, { a: '42' });
  // @ts-expect-error that is no topic
  await producer.publish(42, 42);
}

export async function publishMany(): Promise<void> {
  await producer.publishMany(typed, [{ payload: { orderId: '42' }, options: { id: '42' } }]);
  // @ts-expect-error an orderId is a text
  await producer.publishMany(typed, [{ payload: { orderId: '42' } }, { payload: { orderId: 43 } }]);
  await producer.publishMany('types.count', [{ payload: { count: 1 } }]);
  // @ts-expect-error the map says that a count is a number
  await producer.publishMany('types.count', [{ payload: { count: '1' } }]);
  await producer.publishMany(counted, [{ payload: '42' }]);
  // @ts-expect-error what is published is the schema's input, not its output
  await producer.publishMany(counted, [{ payload: 42 }]);
  await producer.publishMany('types.free', [{ payload: 1 }, { payload: 'two' }]);
  await producer.publishMany<unknown>('types.free', [{ payload: 1 }]);
  // @ts-expect-error the payload is none of the type that was stated
  await producer.publishMany<Order>('types.free', [{ payload: 1 }]);
}

/** Functions around a publish keep its types. */
export async function publishRef<T>(topic: TopicRef<T>, payload: T): Promise<void> {
  await producer.publish(topic, payload);
  await producer.publishMany(topic, [{ payload }]);
  // @ts-expect-error an unknown payload may be wrong for the topic
  await producer.publish(topic, JSON.parse('1') as unknown);
}

export async function publishParsed<In, Out>(topic: Topic<In, Out>, payload: In): Promise<void> {
  await producer.publish(topic, payload);
  // @ts-expect-error what is published is the schema's input, not its output
  await producer.publish(topic, payload as unknown as Out);
}

export async function publishMapped<K extends keyof DelayQueueTopics>(
  topic: K,
  payload: DelayQueueTopics[K],
): Promise<void> {
  await producer.publish(topic, payload);
  await producer.publishMany(topic, [{ payload }]);
}

export async function passOn(): Promise<void> {
  await publishRef(typed, { orderId: '42' });
  await publishParsed(counted, '42');
  await publishMapped('types.order', { orderId: '42' });
  // @ts-expect-error the map says that a count is a number
  await publishMapped('types.count', { count: '1' });
}
