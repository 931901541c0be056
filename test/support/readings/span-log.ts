import { context, propagation, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';

/** The SDK of OpenTelemetry as an application sets it up, and every span that has ended. */
export class SpanLog {
  readonly #exporter = new InMemorySpanExporter();
  readonly provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#exporter)] });

  /** Registers the SDK with the API: tracer, context in an AsyncLocalStorage, and W3C headers. */
  register(): void {
    this.provider.register();
  }

  unregister(): void {
    trace.disable();
    context.disable();
    propagation.disable();
  }

  forget(): void {
    this.#exporter.reset();
  }

  /** In the order in which they have ended. */
  get spans(): ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  all(name: string): ReadableSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  /** The only span of that name. */
  one(name: string): ReadableSpan {
    const [span, ...others] = this.all(name);
    if (span && others.length === 0) return span;
    throw new Error(
      `There are ${this.all(name).length} spans '${name}' among ${this.spans.map((each) => each.name).join(', ')}.`,
    );
  }
}
