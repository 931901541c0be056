import { type Span, context, trace } from '@opentelemetry/api';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { SpanLog } from '../readings/span-log.js';

/** Registers the SDK for the tests of a file; each begins without spans. */
export function useSpans(): SpanLog {
  const log = new SpanLog();
  beforeAll(() => log.register());
  beforeEach(() => log.forget());
  afterAll(() => log.unregister());
  return log;
}

/** Runs something within a span of the application, such as that of a request. */
export async function withinSpan<T>(log: SpanLog, name: string, work: (span: Span) => Promise<T>): Promise<T> {
  const span = log.provider.getTracer('application').startSpan(name);
  try {
    return await context.with(trace.setSpan(context.active(), span), () => work(span));
  } finally {
    span.end();
  }
}
