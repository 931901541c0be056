import { describe, expect, it } from 'vitest';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { wrapBroker } from '../../../lib/store/wrap-broker.js';
import { SystemClock } from '../../../lib/time/clock.js';
import { DelayQueueEvents } from '../../../lib/events/delay-queue.events.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import type { DelayQueueMiddleware } from '../../../lib/middleware/middleware.interface.js';
import { resolveMiddleware } from '../../../lib/middleware/middleware-layers.js';
import { topic } from '../../../lib/messages/topic.js';
import { countPublishes } from '../../../lib/monitoring/metrics-recorder.js';
import { DelayQueueProducer } from '../../../lib/producer/delay-queue.producer.js';
import { testAudit } from '../../support/units/admin.js';
import { testRegistry } from '../../support/units/handling.js';

const NUMBERS = topic('numbers', {
  schema: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => (typeof value === 'number' ? { value } : { issues: [{ message: 'no number' }] }),
    },
  },
});

function setUp(...middleware: DelayQueueMiddleware[]) {
  const clock = new SystemClock();
  const embedded = new EmbeddedBroker(clock);
  embedded.driver.replicas = 0;
  const link = { isUp: true };
  const broker = wrapBroker(embedded, async ({ operation, run }) => {
    if (operation === 'publish' && !link.isUp) throw new BrokerUnavailableError('out of reach');
    return run();
  });
  const events = new DelayQueueEvents(() => () => {});
  const counts: Record<string, number> = {};
  const onFailed = countPublishes(
    { countPublished: (name, outcome) => (counts[`${name} ${outcome}`] = (counts[`${name} ${outcome}`] ?? 0) + 1) },
    events,
  );
  const producer = new DelayQueueProducer({
    store: broker,
    topics: testRegistry({ broker, clock }),
    clock,
    events,
    publishTimeout: 50,
    audit: testAudit(broker, clock),
    middleware: resolveMiddleware(middleware).publish,
    onFailed,
  });
  return { link, producer, counts };
}

/** A value that does not compile, as JavaScript may pass it. */
function untyped(value: unknown): never {
  return value as never;
}

const passOn: DelayQueueMiddleware = { publish: async (_messages, next) => next() };

describe.each([
  ['without middleware', []],
  ['within middleware', [passOn]],
])('publishes %s are counted', (_where, middleware) => {
  it('as new, as duplicates, and as refused if the id exists', async () => {
    const { producer, counts } = setUp(...middleware);
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    await producer.publish('jobs', 2, { id: 'a', onDuplicate: 'ignore' });
    await producer.publish('jobs', 3, { id: 'a', onDuplicate: 'replace', delay: '1h' });
    await producer.publish('jobs', 3, { id: 'a', onDuplicate: 'earliest', delay: '30m' });
    await expect(producer.publish('jobs', 4, { id: 'a' })).rejects.toMatchObject({ code: 'DUPLICATE_MESSAGE' });
    expect(counts).toEqual({ 'jobs created': 1, 'jobs duplicate': 3, 'jobs refused': 1 });
  });

  it('as failed if too few replicas confirm them', async () => {
    const { producer, counts } = setUp(...middleware);
    const replicas = { min: 1, timeout: 5 };
    await expect(producer.publish('jobs', 1, { replicas })).rejects.toMatchObject({ code: 'NOT_REPLICATED' });
    expect(counts).toEqual({ 'jobs failed': 1 });
  });

  it('as refused if the message is not allowed', async () => {
    const { producer, counts } = setUp(...middleware);
    // Once before the partitions of the topic are known, and once after.
    for (const id of ['a', 'b']) {
      await producer.publish('jobs', 'x'.repeat(2 ** 21)).catch(() => {});
      await producer.publish('jobs', 1, { delay: '1 fortnight' }).catch(() => {});
      await producer.publish('jobs', 1, untyped({ dealy: '1h' })).catch(() => {});
      await producer.publish('jobs', 1, { id });
    }
    expect(counts).toEqual({ 'jobs refused': 6, 'jobs created': 2 });
    await producer.publish(NUMBERS, untyped('one')).catch(() => {});
    expect(counts).toMatchObject({ 'numbers refused': 1 });
  });

  it('as failed where they are not confirmed', async () => {
    const { link, producer, counts } = setUp(...middleware);
    link.isUp = false;
    await expect(producer.publish('jobs', 1)).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE' });
    const both = producer.publishMany('jobs', [{ payload: 1 }, { payload: 2 }]);
    await expect(both).rejects.toMatchObject({ code: 'PUBLISH_MANY' });
    expect(counts).toEqual({ 'jobs failed': 3 });
  });

  it('one by one if several are published at once', async () => {
    const { producer, counts } = setUp(...middleware);
    const messages = [1, 2, 3].map((payload) => ({ payload, options: { id: `id ${payload}`, delay: '1h' as const } }));
    await producer.publishMany('jobs', messages);
    await producer.publishMany('jobs', [...messages, { payload: 4 }].slice(2)).catch(() => {});
    expect(counts).toEqual({ 'jobs created': 4, 'jobs refused': 1 });
  });

  it('each, if one of several is not allowed and nothing is sent', async () => {
    const { producer, counts } = setUp(...middleware);
    await producer.publishMany('jobs', [{ payload: 1 }, { payload: undefined }]).catch(() => {});
    await producer.publishMany('jobs', [{ payload: 1 }, { payload: 2, options: untyped({ no: 1 }) }]).catch(() => {});
    await producer.publishMany(NUMBERS, [{ payload: 1 }, { payload: untyped('two') }]).catch(() => {});
    await producer.publishMany('jobs', []);
    expect(counts).toEqual({ 'jobs refused': 4, 'numbers refused': 2 });
  });

  it('under no topic if there is none', async () => {
    const { producer, counts } = setUp(...middleware);
    await expect(producer.publish('no topic', 1)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(producer.publishMany('no topic', [{ payload: 1 }])).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(counts).toEqual({});
  });
});

describe('a publish that middleware has stopped', () => {
  it('is not counted, unless the middleware makes it succeed', async () => {
    const stopped = setUp({ publish: async () => Promise.reject(new Error('not today')) });
    await expect(stopped.producer.publish('jobs', 1)).rejects.toThrow('not today');
    expect(stopped.counts).toEqual({});

    const hidden = setUp({ publish: async (_messages, next) => next().catch(untyped(() => [{ id: 'a' }])) });
    hidden.link.isUp = false;
    await hidden.producer.publish('jobs', 1);
    expect(hidden.counts).toEqual({ 'jobs failed': 1 });
  });
});
