import { ROOT_CONTEXT, SpanKind, SpanStatusCode, context, propagation, trace } from '@opentelemetry/api';
import { DuplicateMessageError, type PublishedMessage, PublishManyError } from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { describe, expect, it } from 'vitest';
import { type FullMiddleware, SECRET, outgoing, spanIdIn } from '../../support/units/traced-messages.js';
import { useSpans, withinSpan } from '../../support/units/use-spans.js';

const log = useSpans();
const { publish } = openTelemetry() as FullMiddleware;

const GIVEN = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const TRACEPARENT = `00-${GIVEN.traceId}-${GIVEN.spanId}-01`;

const SEND = {
  'messaging.system.name': 'nestjs_delay_queue',
  'messaging.system': 'nestjs_delay_queue',
  'messaging.operation.name': 'send',
  'messaging.operation.type': 'send',
  'messaging.destination.name': 'orders',
};
const CREATE = { ...SEND, 'messaging.operation.name': 'create', 'messaging.operation.type': 'create' };

function published(id: string, partition = 5): PublishedMessage {
  return { id, topic: 'orders', partition, dueAt: new Date(0), duplicate: false };
}

describe('the span of a publish', () => {
  it('is a producer in the trace of its caller, and goes into the headers of the message', async () => {
    const message = outgoing({ headers: { tenant: 'acme' } });
    const request = await withinSpan(log, 'request', async (span) => {
      await publish([message], async () => [published('made')]);
      return span.spanContext();
    });

    const send = log.one('send orders');
    expect(send.kind).toBe(SpanKind.PRODUCER);
    expect(send.parentSpanContext?.spanId).toBe(request.spanId);
    const { traceId, spanId } = send.spanContext();
    expect(message.headers).toEqual({ tenant: 'acme', traceparent: `00-${traceId}-${spanId}-01` });
    expect(send.attributes).toEqual({
      ...SEND,
      'messaging.message.id': 'made',
      'messaging.destination.partition.id': '5',
    });
    expect(send.status.code).toBe(SpanStatusCode.UNSET);
    expect(send.links).toEqual([]);
  });

  it('is made by this package', async () => {
    await publish([outgoing()], async () => [published('a')]);

    expect(log.one('send orders').instrumentationScope).toMatchObject({
      name: 'nestjs-delay-queue',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
  });

  it('is the active one while the message is sent, and not afterwards', async () => {
    let active: string | undefined;
    await publish([outgoing()], async () => {
      await new Promise((resolve) => setImmediate(resolve));
      active = trace.getActiveSpan()?.spanContext().spanId;
      return [published('a')];
    });

    expect(active).toBe(log.one('send orders').spanContext().spanId);
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  it('ends when the publish is confirmed', async () => {
    await publish([outgoing()], async () => {
      expect(log.spans).toEqual([]);
      return [published('a')];
    });

    expect(log.spans).toHaveLength(1);
  });

  it('passes on the baggage of its caller', async () => {
    const message = outgoing();
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } });
    await context.with(propagation.setBaggage(ROOT_CONTEXT, baggage), () =>
      publish([message], async () => [published('a')]),
    );

    expect(message.headers['baggage']).toBe('tenant=acme');
  });

  it('does not change a context that the message already has, and is linked to it', async () => {
    const message = outgoing({ headers: { traceparent: TRACEPARENT } });
    await publish([message], async () => [published('a')]);

    const send = log.one('send orders');
    expect(message.headers).toEqual({ traceparent: TRACEPARENT });
    expect(send.kind).toBe(SpanKind.CLIENT);
    expect(send.links.map((link) => link.context)).toMatchObject([GIVEN]);
    expect(send.parentSpanContext).toBeUndefined();
  });

  it.each(['nonsense', '', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`])(
    'replaces an invalid context: %j',
    async (traceparent) => {
      const message = outgoing({ headers: { traceparent } });
      await publish([message], async () => [published('a')]);

      expect(spanIdIn(message.headers)).toBe(log.one('send orders').spanContext().spanId);
    },
  );

  it('has failed with the error of the publish, which its caller gets', async () => {
    const error = new DuplicateMessageError('orders', 'a');
    const refused = publish([outgoing({ id: 'a' })], async () => {
      throw error;
    });

    await expect(refused).rejects.toBe(error);
    const send = log.one('send orders');
    expect(send.status).toEqual({ code: SpanStatusCode.ERROR, message: error.message });
    expect(send.attributes).toEqual({ ...SEND, 'messaging.message.id': 'a', 'error.type': 'DuplicateMessageError' });
    expect(send.events).toMatchObject([{ name: 'exception', attributes: { 'exception.message': error.message } }]);
  });

  it('tolerates whatever an inner middleware returns', async () => {
    expect(await publish([outgoing()], async () => [])).toEqual([]);
    expect(await publish([], async () => [])).toEqual([]);

    expect(log.spans.map(({ name, status }) => [name, status.code])).toEqual([['send orders', SpanStatusCode.UNSET]]);
  });
});

describe('the spans of a publishMany', () => {
  it('are one per message, which goes into its headers, and one for the call, linked to those', async () => {
    const messages = [outgoing({ id: 'a' }), outgoing()];
    const request = await withinSpan(log, 'request', async (span) => {
      await publish(messages, async () => [published('a', 1), published('b', 2)]);
      return span.spanContext();
    });

    const created = log.all('create orders');
    const send = log.one('send orders');
    const ids = created.map((span) => span.spanContext().spanId);
    expect(messages.map(({ headers }) => spanIdIn(headers))).toEqual(ids);
    expect(created.map(({ kind, attributes }) => ({ kind, attributes }))).toEqual([
      {
        kind: SpanKind.PRODUCER,
        attributes: { ...CREATE, 'messaging.message.id': 'a', 'messaging.destination.partition.id': '1' },
      },
      {
        kind: SpanKind.PRODUCER,
        attributes: { ...CREATE, 'messaging.message.id': 'b', 'messaging.destination.partition.id': '2' },
      },
    ]);
    expect(send.kind).toBe(SpanKind.CLIENT);
    expect(send.attributes).toEqual({ ...SEND, 'messaging.batch.message_count': 2 });
    expect(send.links.map((link) => [link.context.spanId, link.attributes?.['messaging.message.id']])).toEqual([
      [ids[0], 'a'],
      [ids[1], undefined],
    ]);
    for (const span of [...created, send]) expect(span.parentSpanContext?.spanId).toBe(request.spanId);
  });

  it('are only the one of the call if the option says so, which goes into all headers', async () => {
    const middleware = openTelemetry({ createSpans: false }) as FullMiddleware;
    const messages = [outgoing(), outgoing()];
    await middleware.publish(messages, async () => [published('a'), published('b')]);

    const send = log.one('send orders');
    expect(log.spans).toEqual([send]);
    expect(send.kind).toBe(SpanKind.PRODUCER);
    expect(messages.map(({ headers }) => spanIdIn(headers))).toEqual([
      send.spanContext().spanId,
      send.spanContext().spanId,
    ]);
  });

  it('do not change a context that a message already has', async () => {
    const messages = [outgoing({ headers: { traceparent: TRACEPARENT } }), outgoing()];
    await publish(messages, async () => [published('a'), published('b')]);

    const created = log.one('create orders').spanContext();
    expect(messages[0]?.headers).toEqual({ traceparent: TRACEPARENT });
    expect(log.one('send orders').links.map((link) => link.context.spanId)).toEqual([GIVEN.spanId, created.spanId]);
  });

  it('show which message was refused', async () => {
    const reason = new DuplicateMessageError('orders', 'b');
    const error = new PublishManyError('orders', [
      { status: 'fulfilled', value: published('a', 4) },
      { status: 'rejected', reason },
    ]);
    const refused = publish([outgoing({ id: 'a' }), outgoing({ id: 'b' })], async () => {
      throw error;
    });

    await expect(refused).rejects.toBe(error);
    expect(log.all('create orders').map(({ status, attributes }) => [status.message, attributes])).toEqual([
      [undefined, { ...CREATE, 'messaging.message.id': 'a', 'messaging.destination.partition.id': '4' }],
      [reason.message, { ...CREATE, 'messaging.message.id': 'b', 'error.type': 'DuplicateMessageError' }],
    ]);
    expect(log.one('send orders').status).toEqual({ code: SpanStatusCode.ERROR, message: error.message });
  });

  it('have all failed if nothing was sent', async () => {
    const refused = publish([outgoing(), outgoing()], async () => {
      throw new TypeError('no');
    });

    await expect(refused).rejects.toThrow('no');
    expect(log.spans.map(({ name, status }) => [name, status.message])).toEqual([
      ['create orders', 'no'],
      ['create orders', 'no'],
      ['send orders', 'no'],
    ]);
  });
});

describe('the spans of publishes', () => {
  it('show neither payload nor headers', async () => {
    const options = { headers: { token: 'top secret' } };
    await publish([outgoing(options)], async () => [published('a')]);
    await publish([outgoing(options), outgoing(options)], async () => [published('a'), published('b')]);

    const shown = JSON.stringify(
      log.spans.map(({ name, attributes, events, links }) => [name, attributes, events, links]),
    );
    expect(log.spans).toHaveLength(4);
    expect(shown).not.toContain(SECRET);
    expect(shown).not.toContain('top secret');
  });
});
