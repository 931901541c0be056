import { INVALID_SPAN_CONTEXT, SpanKind, type TextMapPropagator, type TracerProvider, trace } from '@opentelemetry/api';
import { ConfigurationError, type PublishedMessage } from 'nestjs-delay-queue';
import { type OpenTelemetryOptions, openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { afterEach, describe, expect, it } from 'vitest';
import { SpanLog } from '../../support/readings/span-log.js';
import { type FullMiddleware, delivered, outgoing } from '../../support/units/traced-messages.js';

const PUBLISHED: PublishedMessage = { id: 'a', topic: 'orders', partition: 0, dueAt: new Date(0), duplicate: false };

let log: SpanLog | undefined;

afterEach(() => log?.unregister());

/** Publishes, handles and settles a message; resolves with its headers. */
async function life({ publish, handle, settle }: FullMiddleware): Promise<Record<string, string>> {
  const message = outgoing();
  await publish([message], async () => [PUBLISHED]);
  const { headers } = message;
  const received = delivered('a', headers);
  await handle([received], async () => {});
  const outcome = { ...received, message: received, outcome: 'ack', delay: undefined, failure: undefined } as const;
  await settle([outcome], async () => ['settled']);
  return headers;
}

describe('openTelemetry', () => {
  it('traces with a provider that is registered later, for example if the SDK starts after the modules are made', async () => {
    const middleware = openTelemetry() as FullMiddleware;
    log = new SpanLog();
    log.register();
    await life(middleware);

    expect(log.spans.map(({ name }) => name)).toEqual(['send orders', 'process orders', 'settle orders']);
  });

  it('does nothing if no SDK is registered', async () => {
    expect(await life(openTelemetry() as FullMiddleware)).toEqual({});
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  it('uses the given tracer provider and propagator', async () => {
    log = new SpanLog();
    const propagator: TextMapPropagator = {
      inject: (context, carrier, setter) => {
        const { traceId = '', spanId = '' } = trace.getSpanContext(context) ?? {};
        setter.set(carrier, 'my-trace', `${traceId}/${spanId}`);
      },
      extract: (context, carrier, getter) => {
        const [traceId = '', spanId = ''] = String(getter.get(carrier, 'my-trace')).split('/');
        return spanId === '' ? context : trace.setSpanContext(context, { traceId, spanId, traceFlags: 1 });
      },
      fields: () => ['my-trace'],
    };
    const headers = await life(openTelemetry({ tracerProvider: log.provider, propagator }) as FullMiddleware);

    const { traceId, spanId } = log.one('send orders').spanContext();
    expect(headers).toEqual({ 'my-trace': `${traceId}/${spanId}` });
    expect(log.one('process orders').parentSpanContext?.spanId).toBe(spanId);
    expect(log.one('settle orders').spanContext().traceId).toBe(traceId);
  });

  it('ignores a context without an id, which a propagator may make of other headers', async () => {
    log = new SpanLog();
    const propagator: TextMapPropagator = {
      inject: () => {},
      extract: (context) => trace.setSpanContext(context, INVALID_SPAN_CONTEXT),
      fields: () => [],
    };
    await life(openTelemetry({ tracerProvider: log.provider, propagator }) as FullMiddleware);

    expect(log.one('send orders')).toMatchObject({ kind: SpanKind.PRODUCER, links: [] });
    expect(log.one('process orders')).toMatchObject({ parentSpanContext: undefined, links: [] });
  });

  it.each<{ option: string; values: readonly unknown[] }>([
    { option: 'tracerProvider', values: [null, 5, 'x', {}, { getTracer: 1 }] },
    { option: 'propagator', values: [null, 5, {}, { inject: () => {} }, { extract: () => {} }] },
    { option: 'continueTrace', values: [null, 0, 'no', {}] },
    { option: 'createSpans', values: [null, 1, 'yes', {}] },
  ])('refuses a wrong $option', ({ option, values }) => {
    for (const value of values) {
      const make = (): unknown => openTelemetry({ [option]: value });
      expect(make).toThrow(ConfigurationError);
      expect(make).toThrow(`openTelemetry(): ${option} must `);
    }
  });

  it('refuses invalid options', () => {
    const wrong = [null, 5, [], { provider: undefined }] as unknown as OpenTelemetryOptions[];
    for (const options of wrong) expect(() => openTelemetry(options)).toThrow(ConfigurationError);
  });

  it('takes its options as they are', () => {
    const tracerProvider: TracerProvider = new SpanLog().provider;
    expect(() => openTelemetry({ tracerProvider, continueTrace: false, createSpans: false })).not.toThrow();
    expect(() => openTelemetry({})).not.toThrow();
  });
});
