import type { ConsumerSettings } from '../consumer/consumer-context.js';
import type { MessageHandler } from '../consumer/message-handler.interface.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import type { TopicSettings } from '../topics/topic-settings.interface.js';
import type { ForwardClient } from './forward/forward-options.interface.js';
import { ForwardHandler } from './forward/forward.handler.js';
import { type ClientToken, isClient } from './forward/resolve-forward.js';
import type { OutboundTarget } from './outbound-target.js';
import { nameOf } from './push/push-target.js';
import { PushHandler } from './push/push.handler.js';

/** What an application provides under a token. */
export interface Provided {
  readonly instance: unknown;
  /** Whether it is one instance for the life of the application: neither it nor what it depends on is request-scoped or transient. */
  readonly isStatic: boolean;
}

/** Finds all that an application provides under a token, in whichever modules. */
export type FindProvided = (token: unknown) => readonly Provided[];

export interface OutboundOptions {
  /** By topic. */
  readonly targets: ReadonlyMap<string, OutboundTarget>;
  readonly topicSettings: (topic: string) => TopicSettings;
  readonly consumer: ConsumerSettings;
  /** `undefined`: there is no application to look in. */
  readonly findProvided: FindProvided | undefined;
}

/** The handlers of topics whose messages go to a URL or to a client. To all of the consumer they are like those of an application. */
export class OutboundHandlers {
  readonly handlers: readonly MessageHandler[];
  readonly #pushes: PushHandler[] = [];

  /** @throws ConfigurationError if the client of a topic cannot be found, or it is not one instance */
  constructor(options: OutboundOptions) {
    this.handlers = [...options.targets].map(([topic, target]) => this.#handlerOf(topic, target, options));
  }

  /** To be called once no message is handled any more. */
  close(): void {
    for (const push of this.#pushes) push.close();
  }

  #handlerOf(topic: string, target: OutboundTarget, options: OutboundOptions): MessageHandler {
    const { topicSettings, consumer } = options;
    const settings = topicSettings(topic);
    const isOnce = settings.delivery === 'at-most-once';
    const handled = {
      topic,
      schema: undefined,
      settings: { ...settings, attempts: isOnce ? 1 : settings.attempts, lease: isOnce ? 0 : consumer.lease },
    };
    const rest = { topics: [handled], batch: undefined };
    if (target.kind === 'push') {
      const push = new PushHandler(target.push);
      this.#pushes.push(push);
      return {
        ...rest,
        name: nameOf(target.push),
        concurrency: target.push.concurrency,
        handle: async ([message]) => push.handle(message as DelayedMessage),
      };
    }
    const { forward } = target;
    const handler = new ForwardHandler(forward, clientOf(topic, forward.client, options.findProvided));
    return {
      ...rest,
      name: `forward to ${typeof forward.pattern === 'string' ? forward.pattern : JSON.stringify(forward.pattern)}`,
      concurrency: forward.concurrency,
      handle: async ([message]) => handler.handle(message as DelayedMessage),
    };
  }
}

function clientOf(topic: string, client: ForwardClient | ClientToken, find: FindProvided | undefined): ForwardClient {
  if (isClient(client)) return client;
  const where = `topics['${topic}'].forward.client`;
  const token = typeof client === 'function' ? client.name : `'${String(client)}'`;
  if (!find) throw new ConfigurationError(`${where} is ${token}: without an application, give the client itself.`);
  const found = find(client);
  const why = whyUnusable(found);
  if (why !== undefined) throw new ConfigurationError(`${where} is ${token}, but ${why}, or give a ClientProxy.`);
  return found[0]?.instance as ForwardClient;
}

/** What keeps the providers of a token from being one client, and what to do about it. */
function whyUnusable(found: readonly Provided[]): string | undefined {
  if (found.some(({ isStatic }) => !isStatic)) {
    return (
      'it, or something it depends on, is request-scoped or transient, and there is no request to make it for. Provide it with the ' +
      'default scope'
    );
  }
  const instances = new Set(found.map(({ instance }) => instance));
  if (instances.size > 1) {
    return (
      'several modules provide it, each another instance. Register it in one module that exports it and import that one, or give each ' +
      'a token of its own'
    );
  }
  const [instance] = instances;
  if (isClient(instance)) return undefined;
  const what = instances.size === 0 ? 'nothing in the application provides it' : 'it has no function emit()';
  return `${what}. Register it with ClientsModule.register([{ name, transport, options }])`;
}
