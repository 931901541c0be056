import { v7 as uuidv7 } from 'uuid';
import { type Broker, NO_TOKEN, type Partition, type PublishResult, type Receipt } from '../broker/broker.interface.js';
import type { EmbeddedBroker } from '../broker/embedded/embedded.broker.js';
import { type BrokerCall, wrapBroker } from '../broker/wrap-broker.js';
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
  const failing = wrapBroker(recorded, async (call) => {
    activity.called();
    // Nobody moves the clock while an application boots.
    if (call.operation === 'connect') outages.assertNone();
    await outages.assertReachable();
    return faults.around(call);
  });
  const ping = async (): Promise<void> => {
    activity.called();
    await outages.assertReachable();
  };
  return wrapBroker(failing, watchDeliveries(activity), {
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
      result.status === 'published' && !result.duplicate ? await broker.get(partition, storedId) : undefined;
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

/** Tells of each call of a handler whose messages are delivered at most once: no outcome is sent of them. */
export function watchCalls(handler: MessageHandler, activity: Activity): MessageHandler {
  const once = new Set(handler.topics.filter(({ settings }) => settings.lease === 0).map(({ topic }) => topic));
  if (once.size === 0) return handler;
  return {
    ...handler,
    handle: async (messages, outlived) => {
      const { topic = '' } = messages[0] ?? {};
      if (!once.has(topic)) return handler.handle(messages, outlived);
      const name = uuidv7();
      activity.began(topic, name);
      try {
        return await handler.handle(messages, outlived);
      } finally {
        activity.ended(name);
        activity.called();
      }
    },
  };
}

/** Tells of each delivery, which runs from the reply of its claim until its outcome is sent. */
function watchDeliveries(activity: Activity): (call: BrokerCall) => Promise<unknown> {
  // Part of the names of deliveries: another connection may have a topic of the same name.
  const id = uuidv7();
  const nameOf = ({ topic, index }: Partition, { token }: Receipt): string => `${id}:${topic}:${index}:${token}`;
  return async (call) => {
    if (call.operation === 'claim') {
      const [partition, { lease }] = call.args;
      const result = await call.run();
      if (result.status === 'not-owner' || lease === 0) return result;
      for (const message of result.messages) activity.began(partition.topic, nameOf(partition, message));
      return result;
    }
    if (call.operation === 'settle') {
      const [partition, , settlements] = call.args;
      for (const settlement of settlements) activity.ended(nameOf(partition, settlement));
    } else if (call.operation === 'setAside') {
      const [partition, receipt] = call.args;
      if (receipt.token !== NO_TOKEN) activity.ended(nameOf(partition, receipt));
    }
    return call.run();
  };
}
