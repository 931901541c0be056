import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Broker } from '../store/broker.interface.js';
import type { PublishResult } from '../store/messages/publish.js';
import type { EmbeddedBroker } from '../engines/embedded/embedded.broker.js';
import { type BrokerCall, wrapBroker } from '../store/wrap-broker.js';
import type { MessageHandler } from '../composition/backend.js';
import type { Activity } from './activity.js';
import type { Faults } from './faults.js';
import type { Outages } from './outages.js';
import type { PublishedMessages } from './published-messages.js';

export interface TestingBrokerOptions {
  readonly embedded: EmbeddedBroker;
  readonly activity: Activity;
  readonly faults: Faults;
  readonly outages: Outages;
  readonly published: PublishedMessages;
}

/** The broker as an application under test has it: watched, and failing when the test says so. */
export function testingBroker({ embedded, activity, faults, outages, published }: TestingBrokerOptions): Broker {
  const recorded = wrapBroker(embedded, (call) => recordPublished(call, embedded, published));
  const ping = async (): Promise<void> => {
    activity.called();
    await outages.assertReachable();
  };
  const failing = async (call: BrokerCall): Promise<unknown> => {
    activity.called();
    // Nobody moves the clock while an application boots.
    if (call.operation === 'connect') outages.assertNone();
    await outages.assertReachable();
    return faults.around(call);
  };
  return wrapBroker(recorded, failing, {
    link: { ...embedded.link, ping },
    onAvailable: (listener) => outages.onEnd(listener),
  });
}

/** What took effect counts as published, even if its reply is lost. */
async function recordPublished(call: BrokerCall, broker: Broker, published: PublishedMessages): Promise<unknown> {
  if (call.operation === 'publishOccurrence') {
    const [partition, id, { storedId, dueAt }] = call.args;
    const result = await call.run();
    const stored =
      result.status === 'published' && !result.duplicate ? await broker.messages.get(partition, storedId) : undefined;
    if (stored) published.record(partition, id, [{ ...stored, dueAt }]);
    return result;
  }
  if (call.operation !== 'publish') return call.run();
  const [partition, id, messages] = call.args;
  const results = await call.run();
  const taken = messages.flatMap(({ storedId, envelope }, i) => {
    const { status, dueAt } = results[i] as PublishResult;
    return status === 'created' || status === 'replaced' ? [{ storedId, envelope, dueAt }] : [];
  });
  published.record(partition, id, taken);
  return results;
}

/**
 * Tells of each call of a handler and of its schema, until nothing of it runs any more. What was claimed does not run yet: it may have
 * to wait for the time that its limits permit.
 */
export function watchCalls(handler: MessageHandler, activity: Activity): MessageHandler {
  return {
    ...handler,
    topics: handler.topics.map((handled) => {
      const { topic, schema } = handled;
      return { ...handled, schema: schema && watchSchema(schema, () => activity.handling(topic, 0)) };
    }),
    handle: async (messages, outlived) => {
      const end = activity.handling(messages[0]?.topic ?? '', messages.length);
      const running: Promise<void>[] = [];
      try {
        return await handler.handle(messages, (ended) => {
          running.push(ended);
          outlived?.(ended);
        });
      } finally {
        void Promise.allSettled(running).then(end);
      }
    },
  };
}

function watchSchema(schema: StandardSchemaV1, begin: () => () => void): StandardSchemaV1 {
  const validate = async (payload: unknown): Promise<StandardSchemaV1.Result<unknown>> => {
    const end = begin();
    try {
      return await schema['~standard'].validate(payload);
    } finally {
      end();
    }
  };
  return { '~standard': { ...schema['~standard'], validate } };
}
