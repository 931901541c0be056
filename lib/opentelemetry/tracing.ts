import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
  context as contexts,
  defaultTextMapGetter,
  defaultTextMapSetter,
  isSpanContextValid,
  trace,
} from '@opentelemetry/api';
import { toFailure } from '../messages/failure.js';
import {
  ERROR_TYPE,
  MESSAGING_DESTINATION_NAME,
  MESSAGING_OPERATION_NAME,
  MESSAGING_OPERATION_TYPE,
  MESSAGING_SYSTEM,
  MESSAGING_SYSTEM_NAME,
  SYSTEM,
} from './semantic-conventions.js';

export type Operation = 'create' | 'send' | 'process' | 'settle';

/** Headers as they travel with a message. */
export type Headers = Readonly<Record<string, string>>;

export interface TracingOptions {
  readonly tracer: Tracer;
  readonly propagator: Pick<TextMapPropagator, 'inject' | 'extract'>;
  /** Whether the handling of a single message belongs to the trace of its publisher. */
  readonly continueTrace: boolean;
  /** Whether each message of a `publishMany()` gets its own span. */
  readonly createSpans: boolean;
}

/** Starts, ends and fails spans, and carries contexts in headers. */
export class Tracing {
  readonly options: TracingOptions;

  constructor(options: TracingOptions) {
    this.options = options;
  }

  start(operation: Operation, topic: string, { attributes, ...options }: SpanOptions, parent: Context): Span {
    return this.options.tracer.startSpan(
      `${operation} ${topic}`,
      { ...options, attributes: { ...attributesOf(operation, topic), ...attributes } },
      parent,
    );
  }

  /**
   * Runs a piece of work in a span, which ends with it.
   *
   * @throws any error of the work
   */
  async within<T>(span: Span, parent: Context, work: () => Promise<T>): Promise<T> {
    try {
      return await contexts.with(trace.setSpan(parent, span), work);
    } finally {
      span.end();
    }
  }

  /**
   * Returns the context in which a delivery begins: the active one, with the values of other middleware but without its span. That span
   * only happened to wake the claimer.
   */
  deliveryContext(): Context {
    return trace.deleteSpan(contexts.active());
  }

  /** Adds the context from the headers of a message to `base`. */
  extract(base: Context, headers: Headers): Context {
    return this.options.propagator.extract(base, headers, defaultTextMapGetter);
  }

  /** Returns the span in which a message was created; `undefined` if its headers name none. */
  creationContext(headers: Headers): SpanContext | undefined {
    return this.spanContextIn(this.extract(ROOT_CONTEXT, headers));
  }

  /** Returns the span of a context, if it is a valid one. */
  spanContextIn(context: Context): SpanContext | undefined {
    const spanContext = trace.getSpanContext(context);
    return spanContext && isSpanContextValid(spanContext) ? spanContext : undefined;
  }

  inject(span: Span, parent: Context, headers: Record<string, string>): void {
    this.options.propagator.inject(trace.setSpan(parent, span), headers, defaultTextMapSetter);
  }

  fail(span: Span, error: unknown): void {
    const { name, message, ...rest } = toFailure('failed', error);
    span.recordException({ name, message, ...rest });
    span.setAttribute(ERROR_TYPE, name);
    span.setStatus({ code: SpanStatusCode.ERROR, message });
  }
}

function attributesOf(operation: Operation, topic: string): Attributes {
  return {
    [MESSAGING_SYSTEM_NAME]: SYSTEM,
    [MESSAGING_SYSTEM]: SYSTEM,
    [MESSAGING_OPERATION_NAME]: operation,
    [MESSAGING_OPERATION_TYPE]: operation,
    [MESSAGING_DESTINATION_NAME]: topic,
  };
}
