import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  context,
  createContextKey,
  propagation,
  trace,
} from '@opentelemetry/api';
import { type DelayedMessage, HandlerTimeoutError, RetryLaterError } from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { describe, expect, it } from 'vitest';
import { type FullMiddleware, SECRET, delivered } from '../../support/units/traced-messages.js';
import { useSpans, withinSpan } from '../../support/units/use-spans.js';

const log = useSpans();
const { handle } = openTelemetry() as FullMiddleware;

const PUBLISHERS = ['1', '2', '3'].map((digit) => ({ traceId: digit.repeat(32), spanId: digit.repeat(16) }));
const [FIRST] = PUBLISHERS;

function from(publisher: number): Record<string, string> {
  const { traceId, spanId } = PUBLISHERS[publisher] as (typeof PUBLISHERS)[number];
  return { traceparent: `00-${traceId}-${spanId}-01` };
}

const PROCESS = {
  'messaging.system.name': 'nestjs_delay_queue',
  'messaging.system': 'nestjs_delay_queue',
  'messaging.operation.name': 'process',
  'messaging.operation.type': 'process',
  'messaging.destination.name': 'orders',
  'messaging.destination.partition.id': '3',
};

const done = async (): Promise<void> => {};

function rejected(reason: unknown): PromiseRejectedResult {
  return { status: 'rejected', reason };
}

describe('the span of a handler call with one message', () => {
  it('is a consumer, a child of the publisher and linked to it', async () => {
    expect(await handle([delivered('a', from(0), 2)], async () => 'done')).toBe('done');

    const span = log.one('process orders');
    expect(span.kind).toBe(SpanKind.CONSUMER);
    expect(span.parentSpanContext).toMatchObject({ ...FIRST, isRemote: true });
    expect(span.spanContext().traceId).toBe(FIRST?.traceId);
    expect(span.links.map((link) => link.context)).toMatchObject([{ ...FIRST }]);
    expect(span.attributes).toEqual({
      ...PROCESS,
      'messaging.message.id': 'a',
      'nestjs_delay_queue.message.attempt': 2,
    });
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('begins its own trace if the option says so, and is linked to the publisher', async () => {
    const middleware = openTelemetry({ continueTrace: false }) as FullMiddleware;
    const headers = { ...from(0), baggage: 'tenant=acme' };
    let tenant: string | undefined;
    await middleware.handle([delivered('a', headers)], async () => {
      tenant = propagation.getActiveBaggage()?.getEntry('tenant')?.value;
    });

    const span = log.one('process orders');
    expect(span.parentSpanContext).toBeUndefined();
    expect(span.spanContext().traceId).not.toBe(FIRST?.traceId);
    expect(span.links.map((link) => link.context)).toMatchObject([{ ...FIRST }]);
    expect(tenant).toBe('acme');
  });

  it('begins its own trace if the message was published without one', async () => {
    await handle([delivered('a')], done);

    expect(log.one('process orders')).toMatchObject({ parentSpanContext: undefined, links: [] });
  });

  it('is the active one within the handler, with the baggage of the publisher', async () => {
    const seen: unknown[] = [];
    await handle([delivered('a', { ...from(0), baggage: 'tenant=acme' })], async () => {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(trace.getActiveSpan()?.spanContext().spanId);
      seen.push(propagation.getActiveBaggage()?.getEntry('tenant')?.value);
    });

    expect(seen).toEqual([log.one('process orders').spanContext().spanId, 'acme']);
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  it('is not related to the span in which the message happened to be claimed', async () => {
    await withinSpan(log, 'somebody', () => handle([delivered('a')], done));
    await withinSpan(log, 'somebody', () => handle([delivered('a'), delivered('b')], done));

    for (const span of log.all('process orders'))
      expect(span).toMatchObject({ parentSpanContext: undefined, links: [] });
  });

  it('keeps what an outer middleware has put into the context', async () => {
    const key = createContextKey('tenant');
    let tenant: unknown;
    await context.with(ROOT_CONTEXT.setValue(key, 'acme'), () =>
      handle([delivered('a', from(0))], async () => {
        tenant = context.active().getValue(key);
      }),
    );

    expect(tenant).toBe('acme');
  });

  it.each([
    { what: 'an error', thrown: new TypeError('boom'), type: 'TypeError', message: 'boom' },
    { what: 'something else', thrown: 'boom', type: 'string', message: "'boom'" },
  ])('has failed if the handler throws $what, which is passed on', async ({ thrown, type, message }) => {
    const failed = handle([delivered('a')], async () => {
      throw thrown;
    });

    await expect(failed).rejects.toBe(thrown);
    const span = log.one('process orders');
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message });
    expect(span.attributes['error.type']).toBe(type);
    expect(span.events).toMatchObject([{ name: 'exception', attributes: { 'exception.type': type } }]);
  });

  it('has not failed if the handler puts the message off', async () => {
    const putOff = handle([delivered('a')], async () => {
      throw new RetryLaterError('5s');
    });

    await expect(putOff).rejects.toThrow(RetryLaterError);
    expect(log.one('process orders')).toMatchObject({ status: { code: SpanStatusCode.UNSET }, events: [] });
  });

  it('has failed if the handler took longer than its timeout, even if it returned', async () => {
    const controller = new AbortController();
    const message: DelayedMessage = { ...delivered('a'), signal: controller.signal };
    await handle([message], async () => controller.abort(new HandlerTimeoutError(30)));

    const span = log.one('process orders');
    expect(span.status.code).toBe(SpanStatusCode.ERROR);
    expect(span.attributes['error.type']).toBe('HandlerTimeoutError');
  });

  it('has not failed if the message was cancelled', async () => {
    const message = { ...delivered('a'), signal: AbortSignal.abort(new Error('cancelled')) };
    await handle([message], done);

    expect(log.one('process orders').status.code).toBe(SpanStatusCode.UNSET);
  });

  it('does not read an array that the handler returns as results', async () => {
    await handle([delivered('a')], async () => [{ status: 'rejected', reason: new Error('a mail') }]);

    expect(log.one('process orders').status.code).toBe(SpanStatusCode.UNSET);
  });
});

describe('the span of a handler call with a batch', () => {
  const batch = [delivered('a', from(0)), delivered('b', from(1), 2), delivered('c')];

  it('begins its own trace, with a link for each message that was published in one', async () => {
    await handle(batch, done);

    const span = log.one('process orders');
    expect(span.parentSpanContext).toBeUndefined();
    expect(PUBLISHERS.map(({ traceId }) => traceId)).not.toContain(span.spanContext().traceId);
    expect(span.attributes).toEqual({ ...PROCESS, 'messaging.batch.message_count': 3 });
    expect(span.links.map((link) => [link.context.spanId, link.attributes])).toEqual([
      [PUBLISHERS[0]?.spanId, { 'messaging.message.id': 'a', 'nestjs_delay_queue.message.attempt': 1 }],
      [PUBLISHERS[1]?.spanId, { 'messaging.message.id': 'b', 'nestjs_delay_queue.message.attempt': 2 }],
    ]);
  });

  it('has failed if some of its messages have, but not for those that are put off', async () => {
    const fulfilled = { status: 'fulfilled', value: 1 };
    await handle(batch, async () => [rejected(new TypeError('boom')), fulfilled, rejected(new RetryLaterError(1))]);

    const span = log.one('process orders');
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: '1 of 3 messages failed.' });
    expect(span.attributes['error.type']).toBe('TypeError');
    expect(span.events).toHaveLength(1);
  });

  it('has not failed if all its messages have succeeded', async () => {
    await handle(batch, async () => batch.map(() => ({ status: 'fulfilled', value: 1 })));
    await handle(batch, async () => ['some', 'other', 'array']);

    for (const span of log.all('process orders')) expect(span.status.code).toBe(SpanStatusCode.UNSET);
  });
});

describe('the spans of handler calls', () => {
  it('show neither payload nor headers', async () => {
    const headers = { ...from(0), token: 'top secret' };
    await handle([delivered('a', headers)], done);
    await handle([delivered('a', headers), delivered('b', headers)], done);

    const shown = JSON.stringify(
      log.spans.map(({ name, attributes, events, links }) => [name, attributes, events, links]),
    );
    expect(log.spans).toHaveLength(2);
    expect(shown).not.toContain(SECRET);
    expect(shown).not.toContain('top secret');
  });
});
