import type { ConsumerSettings } from '../consumer/consumer-context.js';
import { handlerSettings } from '../consumer/handler-settings.js';
import type { MessageHandler } from '../consumer/message-handler.interface.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { TopicSettings } from '../fleet/topic-settings.interface.js';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import { clientOf, type FindProvided, type ForwardTarget } from './forward/resolve-forward.js';
import { ForwardHandler } from './forward/forward.handler.js';
import { PushHandler } from './push/push.handler.js';
import type { PushTarget } from './push/push-target.js';

/** Target of a topic's messages in place of a handler, with the option that sets it. */
export type OutboundTarget =
  | { readonly option: 'push'; readonly target: PushTarget }
  | { readonly option: 'forward'; readonly target: ForwardTarget };

interface OutboundOptions {
  /** Targets of messages by topic. */
  readonly outbound: ReadonlyMap<string, OutboundTarget>;
  readonly topicSettings: (topic: string) => TopicSettings;
  readonly consumer: ConsumerSettings;
  /** Handlers from the application's own methods. */
  readonly methods: readonly MessageHandler[];
  readonly findProvided: FindProvided;
}

/** Handlers of topics whose messages go elsewhere. The consumer treats them like those of an application. */
export class OutboundHandlers {
  readonly handlers: readonly MessageHandler[];
  readonly #pushes: PushHandler[] = [];

  /** @throws ConfigurationError if a method also handles such a topic, or the application has no such client */
  constructor({ outbound, topicSettings, consumer, methods, findProvided }: OutboundOptions) {
    assertOneDestination(methods, outbound);
    this.handlers = [...outbound].map(([topic, to]) => {
      const handler =
        to.option === 'push'
          ? new PushHandler(to.target)
          : new ForwardHandler(to.target, clientOf(optionOf(topic, to), to.target, findProvided));
      if (handler instanceof PushHandler) this.#pushes.push(handler);
      const { name, concurrency } = handler;
      return {
        name,
        concurrency,
        batch: undefined,
        topics: [{ topic, schema: undefined, settings: handlerSettings(topicSettings(topic), consumer) }],
        handle: async ([message]) => handler.handle(message as DelayedMessage),
      };
    });
  }

  /** Closes all connections; call this once no message is handled any more. */
  close(): void {
    for (const push of this.#pushes) push.close();
  }
}

function assertOneDestination(methods: readonly MessageHandler[], outbound: OutboundOptions['outbound']): void {
  for (const { name, topics } of methods) {
    for (const { topic } of topics) {
      const to = outbound.get(topic);
      if (!to) continue;
      throw new ConfigurationError(
        `Topic '${topic}' has ${optionOf(topic, to)}, and ${name} handles it as well. A message goes to one place: remove one of them, or ` +
          `publish to two topics.`,
      );
    }
  }
}

function optionOf(topic: string, { option }: OutboundTarget): string {
  return `topics['${topic}'].${option}`;
}
