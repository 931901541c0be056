import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import type { ExportedSpan, TracedReport } from '../tracing-protocol.js';

/** Keeps the spans of this process in memory and reports each to the parent. */
class ReportingExporter extends InMemorySpanExporter {
  override export(...args: Parameters<InMemorySpanExporter['export']>): void {
    super.export(...args);
    for (const span of this.getFinishedSpans()) {
      process.send?.({ kind: 'span', span: toExported(span) } satisfies TracedReport);
    }
    this.reset();
  }
}

/** Sets OpenTelemetry up as an application does, before its modules are made. */
export function exportSpans(): void {
  new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new ReportingExporter())] }).register();
}

function toExported(span: ReadableSpan): ExportedSpan {
  const { traceId, spanId } = span.spanContext();
  return {
    name: span.name,
    kind: span.kind,
    traceId,
    spanId,
    parentSpanId: span.parentSpanContext?.spanId,
    isParentRemote: span.parentSpanContext?.isRemote,
    attributes: span.attributes,
    links: span.links.map(({ context, attributes }) => ({
      traceId: context.traceId,
      spanId: context.spanId,
      id: attributes?.['messaging.message.id'],
    })),
    error: span.status.message,
  };
}
