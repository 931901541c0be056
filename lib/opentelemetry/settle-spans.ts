import {
  type Attributes,
  type Context,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  isSpanContextValid,
  trace,
} from '@opentelemetry/api';
import type { DeliveryOutcome, SettleStatus } from '../index.js';
import type { ProcessSpans } from './process-spans.js';
import {
  MESSAGE_ATTEMPT,
  MESSAGING_BATCH_MESSAGE_COUNT,
  MESSAGING_DESTINATION_PARTITION_ID,
  MESSAGING_MESSAGE_ID,
  SETTLE_OUTCOME,
  SETTLE_REASON,
  SETTLE_STATUS,
  SYSTEM,
} from './semantic-conventions.js';
import type { Tracing } from './tracing.js';

type Settle = () => Promise<readonly SettleStatus[]>;

/** Creates the spans of settles, linked to those of the handler calls that they conclude. */
export class SettleSpans {
  readonly #tracing: Tracing;
  readonly #processSpans: ProcessSpans;

  constructor(tracing: Tracing, processSpans: ProcessSpans) {
    this.#tracing = tracing;
    this.#processSpans = processSpans;
  }

  async settle(outcomes: readonly DeliveryOutcome[], next: Settle): Promise<unknown> {
    const [first] = outcomes;
    if (!first) return next();
    const parent = this.#parentOf(outcomes);
    const span = this.#tracing.start(
      'settle',
      first.topic,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          [MESSAGING_DESTINATION_PARTITION_ID]: String(first.partition),
          ...(outcomes.length === 1 ? attributesOf(first) : batchAttributesOf(outcomes)),
        },
        links: outcomes.flatMap((outcome) => this.#linkTo(outcome)),
      },
      parent,
    );
    return this.#tracing.within(span, parent, async () => {
      try {
        const statuses = await next();
        note(span, outcomes, statuses);
        return statuses;
      } catch (error) {
        this.#tracing.fail(span, error);
        throw error;
      }
    });
  }

  /** Returns the context with the span of the handler call, if only one delivery is settled. */
  #parentOf(outcomes: readonly DeliveryOutcome[]): Context {
    const context = this.#tracing.deliveryContext();
    const processed = outcomes.length === 1 ? this.#processSpanOf(outcomes[0]) : undefined;
    return processed ? trace.setSpanContext(context, processed) : context;
  }

  /** Links a message that was never handled to its publisher. */
  #linkTo(outcome: DeliveryOutcome): Link[] {
    const { message } = outcome;
    const context = this.#processSpanOf(outcome) ?? (message && this.#tracing.creationContext(message.headers));
    return context ? [{ context, attributes: attributesOf(outcome) }] : [];
  }

  #processSpanOf(outcome: DeliveryOutcome | undefined): SpanContext | undefined {
    const spanContext = outcome?.message && this.#processSpans.spanOf(outcome.message);
    return spanContext && isSpanContextValid(spanContext) ? spanContext : undefined;
  }
}

function attributesOf({ id, attempt, outcome, failure }: DeliveryOutcome): Attributes {
  return {
    [MESSAGING_MESSAGE_ID]: id,
    [MESSAGE_ATTEMPT]: attempt,
    [SETTLE_OUTCOME]: outcome,
    ...(failure && { [SETTLE_REASON]: failure.reason }),
  };
}

function batchAttributesOf(outcomes: readonly DeliveryOutcome[]): Attributes {
  const outcome = common(outcomes.map((one) => one.outcome));
  return { [MESSAGING_BATCH_MESSAGE_COUNT]: outcomes.length, ...(outcome && { [SETTLE_OUTCOME]: outcome }) };
}

function note(span: Span, outcomes: readonly DeliveryOutcome[], statuses: readonly SettleStatus[]): void {
  const status = common(statuses);
  if (status) {
    span.setAttribute(SETTLE_STATUS, status);
    return;
  }
  for (const [i, { id }] of outcomes.entries()) {
    const one = statuses[i];
    if (one && one !== 'settled') {
      span.addEvent(`${SYSTEM}.not_settled`, { [MESSAGING_MESSAGE_ID]: id, [SETTLE_STATUS]: one });
    }
  }
}

/** Returns the common value; `undefined` if they differ. */
function common<T extends string>(values: readonly T[]): T | undefined {
  const [first] = values;
  return values.every((value) => value === first) ? first : undefined;
}
