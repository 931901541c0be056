import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Broker } from '../store/broker.interface.js';
import { type BrokerCall, operationsOf, wrapBroker } from '../store/wrap-broker.js';
import { EmbeddedBroker } from '../engines/embedded/embedded.broker.js';
import { noRedis } from '../engines/redis/connection/redis-clients.js';
import { MAX_DELAY } from '../checks/limits.js';
import type { Backend, MessageHandler } from '../composition/backend.js';
import type { DelayQueueModuleOptions } from '../composition/delay-queue-options.interface.js';
import { type ResolvedOptions, resolveOptions } from '../composition/resolve-options.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import type { Clock } from '../time/clock.js';
import { VERSION } from '../version.js';
import { Faults, Outages } from './faults.js';
import { PublishedMessages } from './harness-messages.js';
import type { VirtualTime } from './virtual-time.js';
import { peekedMessages, type StoredMessage } from '../store/messages/stored-message.js';
import type { Partition } from '../store/partition.js';
import { fromBytes, toBytes } from '../engines/embedded/bytes.js';
import { partitionsOf } from '../store/partitions.js';
import type { PublishResult } from '../store/messages/publish.js';
import type { Activity } from './activity.js';

interface TestingBrokerOptions {
  readonly embedded: EmbeddedBroker;
  readonly activity: Activity;
  readonly faults: Faults;
  readonly outages: Outages;
  readonly published: PublishedMessages;
}

/** Returns the broker for an application under test: watched, and failing when the test demands it. */
function testingBroker({ embedded, activity, faults, outages, published }: TestingBrokerOptions): Broker {
  const recorded = wrapBroker(embedded, (call) => recordPublished(call, embedded, published));
  const ping = async (): Promise<void> => {
    activity.called();
    await outages.assertReachable();
  };
  const failing = async (call: BrokerCall): Promise<unknown> => {
    activity.called();
    // The clock does not move while an application boots.
    if (call.operation === 'connect') outages.assertNone();
    await outages.assertReachable();
    return faults.around(call);
  };
  return wrapBroker(recorded, failing, {
    link: { ...embedded.link, ping },
    onAvailable: (listener) => outages.onEnd(listener),
  });
}

/** Makes a call, and records what it published, even if its reply is lost. */
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
 * Reports each call of a handler and of its schema as activity, until nothing of it runs any more. A claimed message does not count yet: it
 * may have to wait until its limits permit a call.
 */
function watchCalls(handler: MessageHandler, activity: Activity): MessageHandler {
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

interface PlacedMessage {
  readonly partition: Partition;
  readonly stored: StoredMessage;
}

/** Arguments without limits: a test wants all messages. */
const ALL = { limit: 1e6, max_bytes: 1e12, since: '-inf', till: 'inf', after_score: '', after_id: '', fields: 'edf' };

/** Reads the messages that a broker in this process keeps, synchronously. */
export class StoredMessages {
  readonly #broker: EmbeddedBroker;

  constructor(broker: EmbeddedBroker) {
    this.#broker = broker;
  }

  get topics(): string[] {
    const { data, keys } = this.#broker;
    return (data.call('HKEYS', toBytes(keys.fleet.topics)) as string[]).map(fromBytes).toSorted();
  }

  /** Returns all messages of a topic in this state, in order of {@link StoredMessage.at}. */
  list(topic: string, state: 'scheduled' | 'dead'): PlacedMessage[] {
    return this.#partitionsOf(topic)
      .flatMap((partition) => this.#listed(partition, state).map((stored) => ({ partition, stored })))
      .toSorted((a, b) => a.stored.at - b.stored.at);
  }

  /** Removes the finished messages of all topics. */
  forgetFinished(): void {
    const { data, keys } = this.#broker;
    for (const partition of this.topics.flatMap((topic) => this.#partitionsOf(topic))) {
      const { finished, endings } = keys.partition(partition);
      data.call('DEL', toBytes(finished), toBytes(endings));
    }
  }

  #partitionsOf(topic: string): readonly Partition[] {
    const { data, keys } = this.#broker;
    return partitionsOf(topic, Number(data.call('HGET', toBytes(keys.topic(topic).config), 'partitions')));
  }

  #listed(partition: Partition, state: 'scheduled' | 'dead'): StoredMessage[] {
    const { driver, keys } = this.#broker;
    const place = keys.partition(partition);
    const sets = state === 'dead' ? [place.dead] : [place.scheduled, place.blocked];
    return sets.flatMap((set) => {
      const reply = driver.runNow('list', place, { ...ALL, set, is_dead: state === 'dead' ? 1 : 0 });
      return [...peekedMessages(state, reply).messages];
    });
  }
}

const NO_REDIS =
  'there is no Redis in this test. Override the provider that uses it, or the token itself: ' +
  'overrideProvider(DELAY_QUEUE_REDIS).useValue(…).';

/**
 * Foundation of connections in a test: a broker in this process, and a clock that the test moves. A connection can belong to another copy
 * of this package than the testing kit, but not to another version.
 */
export class TestBackend implements Backend {
  readonly clock: Clock;
  /** Tests end their applications themselves. */
  readonly expectsSignals = false;
  readonly embedded: EmbeddedBroker;
  readonly stored: StoredMessages;
  readonly faults: Faults;
  readonly outages: Outages;
  readonly published = new PublishedMessages();
  readonly broker: Broker;
  readonly #time: VirtualTime;
  /** Options of the applications on this backend. */
  readonly #options: ResolvedOptions[] = [];

  constructor(time: VirtualTime) {
    this.#time = time;
    this.clock = time.clock;
    this.embedded = new EmbeddedBroker(time.clock);
    this.stored = new StoredMessages(this.embedded);
    this.faults = new Faults(operationsOf(this.embedded));
    this.outages = new Outages(time.clock);
    const { embedded, faults, outages, published } = this;
    this.broker = testingBroker({ embedded, activity: time.activity, faults, outages, published });
  }

  /** Sets heartbeats years apart: if anything ticked while nothing happens, a month would take as long as all its heartbeats. */
  resolve(given: DelayQueueModuleOptions, version: string): ResolvedOptions {
    if (version !== VERSION) {
      throw new ConfigurationError(
        `The testing kit is that of nestjs-delay-queue ${VERSION}, and the application imports DelayQueueModule of ` +
          `${version}. Install one version for both: 'npm ls nestjs-delay-queue' shows where they come from.`,
      );
    }
    const { consumer, ...resolved } = resolveOptions({ ...given, redis: 'redis://none' });
    const options = Object.freeze({ ...resolved, given, consumer: consumer && { ...consumer, heartbeat: MAX_DELAY } });
    this.#options.push(options);
    return options;
  }

  async createBroker(): Promise<{ broker: Broker; redis: object }> {
    return { broker: this.broker, redis: await noRedis(NO_REDIS) };
  }

  watch(handler: MessageHandler): MessageHandler {
    return watchCalls(handler, this.#time.activity);
  }

  booted(): void {
    this.#time.activity.booted();
  }

  /** Lets time run: a hanging handler is given up by a timer, which would not fire otherwise. */
  async whileStopping(stopping: Promise<void>): Promise<void> {
    await this.#time.runDuring(stopping);
  }

  /** Whether an application was created on it, booted or not. */
  get isUsed(): boolean {
    return this.#options.length > 0;
  }

  /** Returns the serializer that the applications set for the payloads of a topic. */
  serializerOf(topic: string): PayloadSerializer | undefined {
    return this.#options
      .map(({ topicSettings }) => topicSettings(topic).serializer)
      .find((serializer) => serializer !== undefined);
  }
}
