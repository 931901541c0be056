import type { Broker } from '../store/broker.interface.js';
import { operationsOf } from '../store/wrap-broker.js';
import { EmbeddedBroker } from '../engines/embedded/embedded.broker.js';
import { noRedis } from '../engines/redis/connection/no-redis.js';
import { MAX_DELAY } from '../checks/limits.js';
import type { Backend, MessageHandler } from '../composition/backend.js';
import type { DelayQueueModuleOptions } from '../composition/delay-queue-options.interface.js';
import { type ResolvedOptions, resolveOptions } from '../composition/resolve-options.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import type { Clock } from '../time/clock.js';
import { VERSION } from '../version.js';
import { Faults } from './faults.js';
import { Outages } from './outages.js';
import { PublishedMessages } from './published-messages.js';
import { StoredMessages } from './stored-messages.js';
import { testingBroker, watchCalls } from './testing.broker.js';
import type { VirtualTime } from './virtual-time.js';

const NO_REDIS =
  'there is no Redis in this test. Override the provider that uses it, or the token itself: ' +
  'overrideProvider(DELAY_QUEUE_REDIS).useValue(…).';

/**
 * What connections stand on in a test: a broker in this process, and a clock that the test moves. A connection may belong to another
 * copy of this package than the testing kit, but not to another version.
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
  /** Of the applications on this backend. */
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

  /**
   * Heartbeats are years apart: if anything ticked while nothing happens, a month would take as long as all its heartbeats.
   */
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

  /** A handler that hangs is given up by a timer, which nobody else would let fire. */
  async whileStopping(stopping: Promise<void>): Promise<void> {
    await this.#time.runDuring(stopping);
  }

  /** Whether an application was made on it, booted or not. */
  get isUsed(): boolean {
    return this.#options.length > 0;
  }

  /** What the applications say makes the payloads of a topic readable. */
  serializerOf(topic: string): PayloadSerializer | undefined {
    return this.#options
      .map(({ topicSettings }) => topicSettings(topic).serializer)
      .find((serializer) => serializer !== undefined);
  }
}
