import {
  type Context,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { resultsOf } from '../messages/handler-results.js';
import { HandlerTimeoutError, RetryLaterError } from '../errors/handling.errors.js';
import type { DelayedMessage } from '../index.js';
import {
  MESSAGE_ATTEMPT,
  MESSAGING_BATCH_MESSAGE_COUNT,
  MESSAGING_DESTINATION_PARTITION_ID,
  MESSAGING_MESSAGE_ID,
} from './semantic-conventions.js';
import type { Tracing } from './tracing.js';

/** Creates the spans of handler calls; handlers run within them. */
export class ProcessSpans {
  readonly #tracing: Tracing;
  readonly #spans = new WeakMap<DelayedMessage, SpanContext>();

  constructor(tracing: Tracing) {
    this.#tracing = tracing;
  }

  /** Returns the span in which a message is or was handled; `undefined` before the call begins. */
  spanOf(message: DelayedMessage): SpanContext | undefined {
    return this.#spans.get(message);
  }

  async handle(messages: readonly DelayedMessage[], next: () => Promise<unknown>): Promise<unknown> {
    const [first] = messages;
    if (!first) return next();
    const { span, parent } = messages.length === 1 ? this.#startOne(first) : this.#startBatch(messages);
    for (const message of messages) this.#spans.set(message, span.spanContext());
    return this.#tracing.within(span, parent, async () => {
      try {
        const result = await next();
        if (span.isRecording()) this.#conclude(span, messages, result);
        return result;
      } catch (error) {
        // Not a failure: the handler asks for another time.
        if (!(error instanceof RetryLaterError)) this.#tracing.fail(span, error);
        throw error;
      }
    });
  }

  #startOne(message: DelayedMessage): { span: Span; parent: Context } {
    const { continueTrace } = this.#tracing.options;
    const extracted = this.#tracing.extract(this.#tracing.deliveryContext(), message.headers);
    const created = this.#tracing.spanContextIn(extracted);
    const parent = continueTrace ? extracted : trace.deleteSpan(extracted);
    const span = this.#tracing.start(
      'process',
      message.topic,
      {
        kind: SpanKind.CONSUMER,
        attributes: { ...partitionOf(message), ...attributesOf(message) },
        links: created ? [{ context: created }] : [],
      },
      parent,
    );
    return { span, parent };
  }

  #startBatch(messages: readonly DelayedMessage[]): { span: Span; parent: Context } {
    const [first] = messages as [DelayedMessage];
    const parent = this.#tracing.deliveryContext();
    const links = messages.flatMap((message): Link[] => {
      const context = this.#tracing.creationContext(message.headers);
      return context ? [{ context, attributes: attributesOf(message) }] : [];
    });
    const attributes = { ...partitionOf(first), [MESSAGING_BATCH_MESSAGE_COUNT]: messages.length };
    const options = { kind: SpanKind.CONSUMER, attributes, links };
    return { span: this.#tracing.start('process', first.topic, options, parent), parent };
  }

  /** Records failures of a handler that has returned: its time was over, or some messages of its batch were rejected. */
  #conclude(span: Span, messages: readonly DelayedMessage[], result: unknown): void {
    const reason: unknown = messages[0]?.signal.reason;
    if (reason instanceof HandlerTimeoutError) this.#tracing.fail(span, reason);
    else if (messages.length > 1) this.#failRejected(span, result, messages.length);
  }

  #failRejected(span: Span, result: unknown, count: number): void {
    const results = resultsOf(result, count) ?? [];
    const reasons = results.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    const failures = reasons.filter((reason) => !(reason instanceof RetryLaterError));
    for (const failure of failures) this.#tracing.fail(span, failure);
    if (failures.length === 0) return;
    span.setStatus({ code: SpanStatusCode.ERROR, message: `${failures.length} of ${count} messages failed.` });
  }
}

function partitionOf({ partition }: DelayedMessage): { [MESSAGING_DESTINATION_PARTITION_ID]: string } {
  return { [MESSAGING_DESTINATION_PARTITION_ID]: String(partition) };
}

function attributesOf({ id, attempt }: DelayedMessage): Record<string, string | number> {
  return { [MESSAGING_MESSAGE_ID]: id, [MESSAGE_ATTEMPT]: attempt };
}
