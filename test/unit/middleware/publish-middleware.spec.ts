import { describe, expect, it } from 'vitest';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { wrapBroker } from '../../../lib/store/wrap-broker.js';
import { SystemClock } from '../../../lib/time/clock.js';
import { ConfigurationError, InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import {
  DuplicateMessageError,
  PayloadTooLargeError,
  SerializationError,
} from '../../../lib/errors/publishing.errors.js';
import { PublishManyError } from '../../../lib/messages/publish-many.error.js';
import { decodeEnvelope } from '../../../lib/messages/envelope.js';
import type { DelayQueueMiddleware, OutgoingMessage } from '../../../lib/middleware/middleware.interface.js';
import { resolveMiddleware } from '../../../lib/middleware/middleware-layers.js';
import type { PublishedMessage, PublishOptions } from '../../../lib/messages/publish-options.interface.js';
import { testAudit } from '../../support/units/admin.js';
import { testRegistry } from '../../support/units/handling.js';
import { resolveOptions } from '../../../lib/composition/resolve-options.js';
import { DelayQueueProducer } from '../../../lib/producer/delay-queue.producer.js';

function setUp(...middleware: DelayQueueMiddleware[]) {
  const clock = new SystemClock();
  // What is sent: the stored messages, call by call.
  const calls: { readonly id: string; readonly headers: Readonly<Record<string, string>> }[][] = [];
  const broker = wrapBroker(new EmbeddedBroker(clock), async (call) => {
    if (call.operation === 'publish') {
      const [, , messages] = call.args;
      calls.push(
        messages.map(({ storedId, envelope }) => ({ id: storedId, headers: decodeEnvelope(envelope).headers })),
      );
    }
    return call.run();
  });
  const { topicSettings } = resolveOptions({ defaults: { partitions: 1 } });
  const producer = new DelayQueueProducer({
    store: broker,
    topics: testRegistry({ broker, clock }, { settingsOf: topicSettings }),
    clock,
    events: { wants: () => false, emit: () => {} },
    publishTimeout: 1000,
    audit: testAudit(broker, clock),
    middleware: resolveMiddleware(middleware).publish,
  });
  return { broker: { calls }, producer };
}

/** Adds a header to each message unless it already has that header. */
const stamp = (name: string, value: string): DelayQueueMiddleware => ({
  publish: async (messages, next) => {
    for (const { headers } of messages) headers[name] ??= value;
    return next();
  },
});

/** A value that does not compile, as JavaScript may pass it. */
function untyped(value: unknown): never {
  return value as never;
}

describe('publish within middleware', () => {
  it('publishes with the headers that the middleware adds to those given', async () => {
    const { broker, producer } = setUp(stamp('a', '1'), stamp('b', '2'), stamp('b', '3'));
    await producer.publish('jobs', null, { id: 'x', headers: { a: 'own' } });

    expect(broker.calls).toEqual([[{ id: 'x', headers: { a: 'own', b: '2' } }]]);
  });

  it('shows the message as it was given, and copies its headers', async () => {
    const seen: OutgoingMessage[] = [];
    const { producer, broker } = setUp({
      publish: async (messages, next) => {
        seen.push(...messages);
        return next();
      },
    });
    const payload = { orderId: '42' };
    const headers = Object.freeze({ a: '1' });
    const options: PublishOptions = Object.freeze({ id: 'x', delay: 5, headers });
    await producer.publish('jobs', payload, options);
    await producer.publish('jobs', payload);

    expect(seen).toEqual([
      { topic: 'jobs', payload, options, headers: { a: '1' } },
      { topic: 'jobs', payload, options: {}, headers: {} },
    ]);
    expect(seen[0]?.payload).toBe(payload);
    expect(seen[0]?.headers).not.toBe(headers);
    expect(broker.calls[1]?.[0]?.headers).toEqual({});
  });

  it('resolves with the result of the middleware', async () => {
    const { producer } = setUp({
      publish: async (_, next) => (await next()).map((published) => ({ ...published, partition: 7 })),
    });
    expect(await producer.publish('jobs', null, { id: 'x' })).toMatchObject({ id: 'x', topic: 'jobs', partition: 7 });
  });

  it('passes the middleware in the order of the list, and back in reverse order', async () => {
    const steps: string[] = [];
    const noting = (name: string): DelayQueueMiddleware => ({
      publish: async (_, next) => {
        steps.push(`${name} in`);
        const results = await next();
        steps.push(`${name} out`);
        return results;
      },
    });
    const { producer } = setUp(noting('a'), { handle: async (_, next) => next() }, noting('b'));
    await producer.publish('jobs', null);

    expect(steps).toEqual(['a in', 'b in', 'b out', 'a out']);
  });

  it('sends nothing if the middleware throws, and rejects with its error', async () => {
    const error = new Error('boom');
    const { broker, producer } = setUp({
      publish: async () => {
        throw error;
      },
    });

    await expect(producer.publish('jobs', null)).rejects.toBe(error);
    await expect(producer.publishMany('jobs', [{ payload: 1 }, { payload: 2 }])).rejects.toBe(error);
    expect(broker.calls).toEqual([]);
  });

  it('sends nothing if the middleware does not call next, and resolves with its result', async () => {
    const result: PublishedMessage = { id: 'x', topic: 'jobs', partition: 0, dueAt: new Date(0), duplicate: true };
    const { broker, producer } = setUp({ publish: async (messages) => messages.map(() => result) });

    expect(await producer.publish('jobs', null)).toBe(result);
    expect(await producer.publishMany('jobs', [{ payload: 1 }, { payload: 2 }])).toEqual([result, result]);
    expect(broker.calls).toEqual([]);
  });

  it.each<{ what: string; results: unknown }>([
    { what: 'nothing', results: undefined },
    { what: 'no list', results: {} },
    { what: 'too few results', results: [] },
    { what: 'too many results', results: [1, 2] },
  ])('refuses $what as a result, and names the middleware', async ({ results }) => {
    const { producer } = setUp(stamp('a', '1'), { publish: async () => untyped(results) });
    const publish = producer.publish('jobs', null);

    await expect(publish).rejects.toThrow(ConfigurationError);
    await expect(publish).rejects.toThrow(/one result a message.*Messages: 1, returned: .*middleware\[1\]\.publish/);
  });

  it('refuses a second call of next(), and has published once', async () => {
    const { broker, producer } = setUp({
      publish: async (_, next) => {
        await next();
        return next();
      },
    });
    await expect(producer.publish('jobs', null)).rejects.toThrow('middleware[0].publish called next() a second time');
    expect(broker.calls).toHaveLength(1);
  });

  it('lets the middleware see what a publish throws, and catch it', async () => {
    const seen: unknown[] = [];
    const { producer } = setUp({
      publish: async (messages, next) => {
        try {
          return await next();
        } catch (error) {
          seen.push(error);
          if (messages[0]?.options.id === 'a') throw error;
          return messages.map(({ topic }) => ({ id: '', topic, partition: 0, dueAt: new Date(0), duplicate: true }));
        }
      },
    });
    for (const id of ['a', 'b']) await producer.publish('jobs', null, { id, delay: '1h' });

    await expect(producer.publish('jobs', null, { id: 'a' })).rejects.toThrow(DuplicateMessageError);
    expect(await producer.publish('jobs', null, { id: 'b' })).toMatchObject({ id: '', duplicate: true });
    expect(seen).toEqual([expect.any(DuplicateMessageError), expect.any(DuplicateMessageError)]);
  });

  it.each<{ what: string; spoil: (message: OutgoingMessage) => void; error: new (...args: never) => Error }>([
    {
      what: 'headers that are no strings',
      spoil: ({ headers }) => (headers['a'] = untyped(1)),
      error: InvalidArgumentError,
    },
    {
      what: 'headers that are too large',
      spoil: ({ headers }) => (headers['a'] = 'x'.repeat(1 << 20)),
      error: PayloadTooLargeError,
    },
    {
      what: 'other headers in the place of its own',
      spoil: (message) => Object.assign(message, { headers: {} }),
      error: TypeError,
    },
    {
      what: 'a payload that JSON cannot hold',
      spoil: ({ payload }) => Object.assign(payload as object, { n: 1n }),
      error: SerializationError,
    },
  ])('sends nothing if the middleware leaves $what', async ({ spoil, error }) => {
    const { broker, producer } = setUp({
      publish: async (messages, next) => {
        const last = messages.at(-1);
        if (last) spoil(last);
        return next();
      },
    });

    await expect(producer.publish('jobs', {})).rejects.toThrow(error);
    await expect(producer.publishMany('jobs', [{ payload: {} }, { payload: {} }])).rejects.toThrow(error);
    expect(broker.calls).toEqual([]);
  });

  it.each<{ what: string; publish: (producer: DelayQueueProducer) => Promise<unknown> }>([
    { what: 'a wrong topic', publish: (producer) => producer.publish('a b', null) },
    { what: 'a wrong topic for many', publish: (producer) => producer.publishMany('a b', [{ payload: 1 }]) },
    { what: 'options that are none', publish: (producer) => producer.publish('jobs', null, untyped(5)) },
    { what: 'options that are null', publish: (producer) => producer.publish('jobs', null, untyped(null)) },
    { what: 'an unknown option', publish: (producer) => producer.publish('jobs', null, untyped({ dealy: 5 })) },
    {
      what: 'headers that are none',
      publish: (producer) => producer.publish('jobs', null, { headers: untyped('abc') }),
    },
    { what: 'no list of messages', publish: (producer) => producer.publishMany('jobs', untyped({ length: 1 })) },
    { what: 'no message', publish: (producer) => producer.publishMany('jobs', [untyped(null)]) },
    {
      what: 'wrong headers among many',
      publish: (producer) =>
        producer.publishMany('jobs', [{ payload: 1 }, { payload: 2, options: { headers: untyped([]) } }]),
    },
  ])('does not call the middleware with $what', async ({ publish }) => {
    let calls = 0;
    const { broker, producer } = setUp({
      publish: async (_, next) => {
        calls++;
        return next();
      },
    });

    await expect(publish(producer)).rejects.toThrow(InvalidArgumentError);
    expect({ calls, sent: broker.calls }).toEqual({ calls: 0, sent: [] });
  });
});

describe('publishMany within middleware', () => {
  it('is one call of the middleware, with all messages; each keeps its own headers', async () => {
    let calls = 0;
    const { broker, producer } = setUp({
      publish: async (messages, next) => {
        calls++;
        messages.forEach(({ headers }, i) => (headers['place'] = String(i)));
        return next();
      },
    });
    const results = await producer.publishMany('jobs', [
      { payload: 1, options: { id: 'a', headers: { own: 'yes' } } },
      { payload: 2, options: { id: 'b' } },
    ]);

    expect(results.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(calls).toBe(1);
    expect(broker.calls).toEqual([
      [
        { id: 'a', headers: { own: 'yes', place: '0' } },
        { id: 'b', headers: { place: '1' } },
      ],
    ]);
  });

  it('does not call the middleware without messages', async () => {
    const { producer } = setUp({ publish: async () => expect.fail('it was called') });
    expect(await producer.publishMany('jobs', [])).toEqual([]);
  });

  it('throws PublishManyError through the middleware', async () => {
    const seen: unknown[] = [];
    const { producer } = setUp({
      publish: async (_, next) =>
        next().catch((error: unknown) => {
          seen.push(error);
          throw error;
        }),
    });
    const publish = producer.publishMany('jobs', [
      { payload: 1, options: { id: 'a', delay: '1h' } },
      { payload: 2, options: { id: 'a' } },
    ]);

    await expect(publish).rejects.toThrow(PublishManyError);
    await expect(publish).rejects.toBe(seen[0]);
    await expect(publish).rejects.toMatchObject({ results: [{ status: 'fulfilled' }, { status: 'rejected' }] });
  });
});

describe('publishes of one turn of the event loop', () => {
  it.each<{ what: string; middleware: DelayQueueMiddleware[] }>([
    { what: 'no middleware', middleware: [] },
    { what: 'middleware', middleware: [stamp('a', '1'), stamp('b', '2')] },
    {
      what: 'middleware that waits for something that is there already',
      middleware: [
        {
          publish: async (messages, next) => {
            const tenant = await Promise.resolve('acme');
            for (const { headers } of messages) headers['tenant'] = tenant;
            return next();
          },
        },
      ],
    },
  ])('travel together with $what', async ({ middleware }) => {
    const { broker, producer } = setUp(...middleware);
    await producer.publish('jobs', 0);
    broker.calls.length = 0;
    await Promise.all(Array.from({ length: 50 }, (_, i) => producer.publish('jobs', i, { id: `m${i}` })));

    expect(broker.calls.map((messages) => messages.length)).toEqual([50]);
    expect(broker.calls[0]?.map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, i) => `m${i}`));
  });
});
