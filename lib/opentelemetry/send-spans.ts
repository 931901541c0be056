import {
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  SpanKind,
  context as contexts,
} from '@opentelemetry/api';
import { PublishManyError } from '../messages/publish-many.error.js';
import type { OutgoingMessage, PublishedMessage } from '../index.js';
import {
  MESSAGING_BATCH_MESSAGE_COUNT,
  MESSAGING_DESTINATION_PARTITION_ID,
  MESSAGING_MESSAGE_ID,
} from './semantic-conventions.js';
import type { Tracing } from './tracing.js';

type Publish = () => Promise<PublishedMessage[]>;

/** A message with the span that its publisher has already put into its headers, which stays. */
interface TracedMessage {
  readonly message: OutgoingMessage;
  readonly given: SpanContext | undefined;
}

/** Creates the spans of publishes, whose context travels with the messages. */
export class SendSpans {
  readonly #tracing: Tracing;

  constructor(tracing: Tracing) {
    this.#tracing = tracing;
  }

  async publish(messages: readonly OutgoingMessage[], next: Publish): Promise<PublishedMessage[]> {
    const parent = contexts.active();
    const traced = messages.map((message) => ({
      message,
      given: this.#tracing.creationContext(message.headers),
    }));
    const [first] = traced;
    if (!first) return next();
    return traced.length === 1 ? this.#sendOne(first, parent, next) : this.#sendMany(traced, parent, next);
  }

  async #sendOne({ message, given }: TracedMessage, parent: Context, next: Publish): Promise<PublishedMessage[]> {
    const span = this.#tracing.start(
      'send',
      message.topic,
      {
        kind: given ? SpanKind.CLIENT : SpanKind.PRODUCER,
        attributes: idOf(message),
        links: given ? [{ context: given }] : [],
      },
      parent,
    );
    if (!given) this.#tracing.inject(span, parent, message.headers);
    return this.#tracing.within(span, parent, async () => {
      try {
        const results = await next();
        describe(span, results[0]);
        return results;
      } catch (error) {
        this.#tracing.fail(span, error);
        throw error;
      }
    });
  }

  async #sendMany(traced: readonly TracedMessage[], parent: Context, next: Publish): Promise<PublishedMessage[]> {
    const { createSpans } = this.#tracing.options;
    const created = traced.map(({ message, given }) =>
      createSpans && !given ? this.#create(message, parent) : undefined,
    );
    const links = traced.flatMap(({ message, given }, i) => {
      const context = given ?? created[i]?.spanContext();
      return context ? [{ context, attributes: idOf(message) }] : [];
    });
    const span = this.#tracing.start(
      'send',
      (traced[0] as TracedMessage).message.topic,
      {
        kind: links.length === traced.length ? SpanKind.CLIENT : SpanKind.PRODUCER,
        attributes: { [MESSAGING_BATCH_MESSAGE_COUNT]: traced.length },
        links,
      },
      parent,
    );
    for (const [i, { message, given }] of traced.entries()) {
      if (!given) this.#tracing.inject(created[i] ?? span, parent, message.headers);
    }
    return this.#tracing.within(span, parent, async () => {
      try {
        const results = await next();
        for (const [i, one] of created.entries()) if (one) describe(one, results[i]);
        return results;
      } catch (error) {
        this.#tracing.fail(span, error);
        for (const [i, one] of created.entries()) if (one) this.#conclude(one, error, i);
        throw error;
      } finally {
        for (const one of created) one?.end();
      }
    });
  }

  #create(message: OutgoingMessage, parent: Context): Span {
    return this.#tracing.start('create', message.topic, { kind: SpanKind.PRODUCER, attributes: idOf(message) }, parent);
  }

  /** Records the result of one message of a failed call: some may have been published. */
  #conclude(span: Span, error: unknown, index: number): void {
    const result = error instanceof PublishManyError ? error.results[index] : undefined;
    if (result?.status === 'fulfilled') describe(span, result.value);
    else this.#tracing.fail(span, result ? result.reason : error);
  }
}

function idOf({ options }: OutgoingMessage): Attributes {
  return typeof options.id === 'string' ? { [MESSAGING_MESSAGE_ID]: options.id } : {};
}

/** @param published `undefined` if other middleware has not returned it, which an outer layer reports */
function describe(span: Span, published: PublishedMessage | undefined): void {
  if (!published) return;
  span.setAttributes({
    [MESSAGING_MESSAGE_ID]: published.id,
    [MESSAGING_DESTINATION_PARTITION_ID]: String(published.partition),
  });
}
