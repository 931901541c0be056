import { Injectable } from '@nestjs/common';
import {
  type DelayedMessage,
  DelayedHandler,
  DelayQueueAdmin,
  HandlerTimeoutError,
  InvalidPayloadError,
  SchemaError,
  type Topic,
  topic,
} from 'nestjs-delay-queue';
import * as v from 'valibot';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { Gate, within } from '../support/waiting.js';

const orders = topic('orders', {
  schema: z.object({
    orderId: z.string(),
    lines: z.array(z.object({ sku: z.string() })).default([]),
    dueOn: z.iso.datetime().pipe(z.coerce.date()),
  }),
});

/** An asynchronous schema. */
const mails = topic('mails', {
  schema: v.objectAsync({
    to: v.pipeAsync(
      v.string(),
      v.checkAsync(async (to) => {
        await new Promise((resolve) => setImmediate(resolve));
        return to.endsWith('.org');
      }, 'unknown address'),
      v.transform((to) => ({ address: to })),
    ),
  }),
});

const ORDER = { orderId: '42', dueOn: '2026-01-01T00:00:00.000Z' };
const CHECKED_ORDER = { orderId: '42', lines: [], dueOn: new Date(ORDER.dueOn) };

/** Set by tests: what the schema does. A publish by the topic's name alone bypasses the schema. */
let judge: (payload: unknown) => unknown = (payload) => payload;
const judged = topic('judged', {
  schema: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (payload: unknown) => ({ value: await judge(payload) }),
    },
  },
});

@Injectable()
class Handler extends Recorder {
  @DelayedHandler([orders, mails, judged])
  async handle(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}

const bed = useBed();

beforeEach(() => {
  judge = (payload) => payload;
});

async function start() {
  const app = await bed.start({
    providers: [Handler],
    options: {
      defaults: { partitions: 1, attempts: 3, backoff: { type: 'fixed', delay: 5 } },
      consumer: { shutdownTimeout: 50 },
    },
  });
  const { producer, events, logs } = app;
  const of = ({ name }: Topic<unknown>) => bed.partition(name);
  return { app, producer, events, logs, of, handler: app.get(Handler), admin: app.get(DelayQueueAdmin) };
}

async function startProducer() {
  const { producer } = await bed.start({ options: { consumer: false } });
  return producer;
}

/** A message whose check is under way. */
async function startChecking() {
  const started = await start();
  const checking = new Gate();
  const checked = new Gate();
  judge = async () => {
    checking.open();
    await checked.opened;
  };
  await started.producer.publish('judged', 1, { id: 'a' });
  await within('the check', checking.opened);
  return { ...started, checked };
}

describe('a publish to a topic with a schema', () => {
  it.each([
    {
      library: 'zod',
      to: orders,
      payload: { orderId: 42, lines: [{ sku: 'a' }, { sku: 1 }] },
      paths: [['orderId'], ['lines', 1, 'sku'], ['dueOn']],
      says: ["topic 'orders'", 'orderId: ', 'lines[1].sku: ', 'dueOn: '],
    },
    {
      library: 'valibot, asynchronously',
      to: mails,
      payload: { to: 'nobody@example.com' },
      paths: [[expect.objectContaining({ key: 'to' })]],
      says: ["topic 'mails'", 'to: unknown address'],
    },
  ])('is refused by $library, and nothing is written', async ({ to, payload, paths, says }) => {
    const producer = await startProducer();
    const error: unknown = await producer.publish<unknown>(to, payload).catch((e: unknown) => e);

    expect(error).toBeInstanceOf(InvalidPayloadError);
    const { code, topic: name, issues, message } = error as InvalidPayloadError;
    expect({ code, name }).toEqual({ code: 'INVALID_PAYLOAD', name: to.name });
    expect(issues.map(({ path }) => path)).toEqual(paths);
    for (const part of says) expect(message).toContain(part);
    expect(await bed.keys()).toEqual([]);
  });

  it('is refused if JSON changes the payload', async () => {
    const producer = await startProducer();
    const dates = topic('dates', { schema: z.object({ at: z.date() }) });
    const publishing = producer.publish(dates, { at: new Date(0) });

    await expect(publishing).rejects.toThrow(/topic 'dates': at: .*date.* JSON makes a string of a Date\.$/);
    expect(await bed.keys()).toEqual([]);
  });

  it('rejects with a SchemaError if the schema throws, and nothing is written', async () => {
    const producer = await startProducer();
    const failure = new Error('no connection');
    judge = () => {
      throw failure;
    };
    const error: unknown = await producer.publish(judged, 1).catch((e: unknown) => e);

    expect(error).toBeInstanceOf(SchemaError);
    expect(error).toMatchObject({ code: 'SCHEMA', topic: 'judged', cause: failure });
    expect((error as SchemaError).message).toContain(
      "topic 'judged' threw instead of judging the payload: no connection",
    );
    expect(await bed.keys()).toEqual([]);
  });

  it('of many writes nothing if one of them is refused', async () => {
    const producer = await startProducer();
    const good = Array.from({ length: 250 }, () => ({ payload: { to: 'a@example.org' } }));
    const publishing = producer.publishMany(mails, [...good, { payload: { to: 'b' } }, ...good]);

    await expect(publishing).rejects.toThrow(InvalidPayloadError);
    expect(await bed.keys()).toEqual([]);
  });

  it('of many resolves if all of them are accepted', async () => {
    const { producer, handler } = await start();
    const results = await producer.publishMany(
      mails,
      Array.from({ length: 250 }, (_, i) => ({ payload: { to: `${i}@example.org` }, options: { id: `${i}` } })),
    );

    expect(results.map(({ id }) => id)).toEqual(Array.from({ length: 250 }, (_, i) => `${i}`));
    for (const { payload, message } of await handler.called(250)) {
      expect(payload).toEqual({ to: { address: `${message.id}@example.org` } });
    }
  });
});

describe('the handler of a topic with a schema', () => {
  it('gets the output, while what is stored is what was published', async () => {
    const { producer, handler, of } = await start();
    await producer.publish(orders, ORDER, { id: 'a', delay: 300 });
    expect(await of(orders).payload('a')).toEqual(ORDER);

    const [call] = await handler.called();
    expect(call?.payload).toEqual(CHECKED_ORDER);
    expect(call?.message.payload).toBe(call?.payload);
  });

  it('gets it in every attempt', async () => {
    const { producer, events, handler } = await start();
    handler.respond = (_payload, { attempt }) => {
      if (attempt < 3) throw new Error('down');
    };
    await producer.publish(orders, ORDER);
    expect(await events.acked.first()).toMatchObject({ attempt: 3 });
    expect(handler.calls.map(({ payload }) => payload)).toEqual([CHECKED_ORDER, CHECKED_ORDER, CHECKED_ORDER]);
  });

  it('never gets a payload that does not fit, such as from a producer without the schema: it is a dead letter, no attempt spent', async () => {
    const { producer, events, logs, handler, admin, of } = await start();
    const lines = Array.from({ length: 50 }, () => ({ sku: 1 }));
    await producer.publish('orders', { ...ORDER, lines }, { id: 'a' });
    const event = await events.dead.first();

    expect(event).toMatchObject({ topic: 'orders', id: 'a', attempt: 1 });
    const { reason, name, code, message, issues } = event.failure;
    expect({ reason, name, code }).toEqual({
      reason: 'invalid',
      name: 'InvalidPayloadError',
      code: 'INVALID_PAYLOAD',
    });
    expect(message).toMatch(/lines\[0\]\.sku: .* and 47 more/);
    expect(issues).toHaveLength(10);
    expect(issues?.[9]).toEqual({ message: expect.stringContaining('string') as string, path: 'lines[9].sku' });

    expect(await of(orders).failure('a')).toEqual(event.failure);
    expect(await of(orders).spent('a')).toEqual({ deliveries: 1, attempts: 0 });
    expect(await of(orders).payload('a')).toEqual({ ...ORDER, lines });
    expect(await admin.get(orders, 'a')).toMatchObject({ state: 'dead', attempts: 0, failure: event.failure });
    expect(logs.errors[0]).toContain("Message 'a' of topic 'orders' is dead (invalid) in Handler.handle: ");
    expect(handler.calls).toEqual([]);
    expect(events.delivered.past).toEqual([]);
  });

  it('gets the message once a fitting payload replaces it, with its whole budget', async () => {
    const { producer, events, handler, of } = await start();
    await producer.publish('orders', {}, { id: 'a' });
    await events.dead.first();
    await producer.publish(orders, ORDER, { id: 'a', onDuplicate: 'replace' });

    const [call] = await handler.called();
    expect(call).toMatchObject({ payload: CHECKED_ORDER, message: { id: 'a', attempt: 1 } });
    await events.acked.first();
    expect(await of(orders).dead()).toEqual([]);
    expect(await of(orders).failure('a')).toBeUndefined();
  });

  it('gets payloads that are checked by the schema of their topic', async () => {
    const { producer, events } = await start();
    await producer.publish('orders', { to: 'a@example.org' }, { id: 'order' });
    await producer.publish('mails', ORDER, { id: 'mail' });
    await producer.publish(judged, { whatever: true }, { id: 'other' });

    expect((await events.dead.take(2)).map(({ id }) => id).toSorted()).toEqual(['mail', 'order']);
    expect(await events.acked.first()).toMatchObject({ id: 'other' });
  });
});

describe('a schema that fails before a delivery', () => {
  it('counts as a failed attempt', async () => {
    const { producer, events, handler, of } = await start();
    const failure = new Error('no connection');
    let checks = 0;
    judge = (payload) => {
      if (checks++ === 0) throw failure;
      return payload;
    };
    await producer.publish('judged', 1, { id: 'a' });
    expect(await events.retried.first()).toMatchObject({ id: 'a', attempt: 1, delay: 5, error: failure });
    expect(await events.acked.first()).toMatchObject({ id: 'a', attempt: 2 });
    expect(handler.calls).toHaveLength(1);
    expect(await of(judged).failure('a')).toBeUndefined();
  });

  it('leads to a dead letter once the attempts are used up', async () => {
    const { producer, events, handler, of } = await start();
    judge = () => {
      throw new RangeError('no connection');
    };
    await producer.publish('judged', 1, { id: 'a' });
    const { failure } = await events.dead.first();
    expect(failure).toMatchObject({ reason: 'failed', name: 'RangeError', message: 'no connection' });
    expect(await of(judged).spent('a')).toEqual({ deliveries: 3, attempts: 3 });
    expect(handler.calls).toEqual([]);
  });

  it('has the same time limit as the handler', async () => {
    const { producer, events } = await start();
    const hanging = new Gate();
    judge = async () => hanging.opened;
    await producer.publish('judged', 1, { id: 'a', timeout: 30, attempts: 100 });
    const { error } = await events.retried.first();
    expect(error).toBeInstanceOf(HandlerTimeoutError);
    judge = (payload) => payload;
    hanging.open();
    expect(await events.acked.first()).toMatchObject({ id: 'a' });
  });
});

describe('a slow schema', () => {
  it('ends after a cancel: the handler is not called', async () => {
    const { producer, events, handler, of, checked } = await startChecking();
    expect(await producer.cancel(judged, 'a')).toBe('in-flight');
    // Sent after the signal of the cancel, so it arrives after it.
    await producer.publish(orders, ORDER, { id: 'b' });
    await handler.called();
    checked.open();
    await producer.publish(judged, 2, { id: 'c' });
    await events.acked.first(({ id }) => id === 'c');

    expect(handler.ids).toEqual(['b', 'c']);
    expect(await of(judged).inFlight()).toEqual([]);
    expect(await of(judged).envelope('a')).toBeUndefined();
  });

  it('ends during a shutdown: the message is given back, and the handler is not called', async () => {
    const { app, handler, of, checked } = await startChecking();
    await app.close();
    checked.open();

    expect(await of(judged).scheduled()).toEqual(['a']);
    expect(await of(judged).spent('a')).toEqual({ deliveries: 0, attempts: 0 });
    expect(handler.calls).toEqual([]);
  });
});
