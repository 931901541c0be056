import type { ConsumerSettings } from '../consumer/consumer-context.js';
import { handlerSettings } from '../consumer/handler-settings.js';
import type { MessageHandler } from '../consumer/message-handler.interface.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { TopicSettings } from '../fleet/topic-settings.interface.js';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import { PushHandler } from './push/push.handler.js';
import { type PushTarget, nameOf } from './push/push-target.js';

export interface OutboundOptions {
  /** Where messages are pushed to, by topic. */
  readonly pushes: ReadonlyMap<string, PushTarget>;
  readonly topicSettings: (topic: string) => TopicSettings;
  readonly consumer: ConsumerSettings;
  /** Of the application's own methods. */
  readonly methods: readonly MessageHandler[];
}

/** The handlers of topics whose messages go to a URL. To all of the consumer they are like those of an application. */
export class OutboundHandlers {
  readonly handlers: readonly MessageHandler[];
  readonly #pushes: PushHandler[] = [];

  /** @throws ConfigurationError if a method handles such a topic as well */
  constructor({ pushes, topicSettings, consumer, methods }: OutboundOptions) {
    assertOneDestination(methods, pushes);
    this.handlers = [...pushes].map(([topic, target]) => {
      const push = new PushHandler(target);
      this.#pushes.push(push);
      return {
        name: nameOf(target),
        concurrency: target.concurrency,
        batch: undefined,
        topics: [{ topic, schema: undefined, settings: handlerSettings(topicSettings(topic), consumer) }],
        handle: async ([message]) => push.handle(message as DelayedMessage),
      };
    });
  }

  /** To be called once no message is handled any more. */
  close(): void {
    for (const push of this.#pushes) push.close();
  }
}

function assertOneDestination(methods: readonly MessageHandler[], pushes: OutboundOptions['pushes']): void {
  for (const { name, topics } of methods) {
    const twice = topics.find(({ topic }) => pushes.has(topic));
    if (!twice) continue;
    throw new ConfigurationError(
      `Topic '${twice.topic}' has topics['${twice.topic}'].push, and ${name} handles it as well. A message goes to one place: remove ` +
        `one of them, or publish to two topics.`,
    );
  }
}
