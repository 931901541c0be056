import type { Broker } from '../broker/broker.interface.js';
import { MemoryBroker } from '../broker/memory/memory.broker.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import type { ResolvedOptions } from '../connection/resolved-options.interface.js';
import { Faults } from './faults.js';
import { Outages } from './outages.js';
import { PublishedMessages } from './published-messages.js';
import { testingBroker } from './testing.broker.js';
import type { VirtualTime } from './virtual-time.js';

/** What stands in the place of a connection's Redis. */
export class TestBackend {
  readonly time: VirtualTime;
  readonly memory: MemoryBroker;
  readonly faults = new Faults();
  readonly outages: Outages;
  readonly published = new PublishedMessages();
  readonly broker: Broker;
  /** Of the applications on this backend. */
  readonly #options: ResolvedOptions[] = [];

  constructor(time: VirtualTime) {
    this.time = time;
    this.memory = new MemoryBroker(time.clock);
    this.outages = new Outages(time.clock);
    const { memory, faults, outages, published } = this;
    this.broker = testingBroker({ memory, activity: time.activity, faults, outages, published });
  }

  /** To be called with the options of each application. */
  serves(options: ResolvedOptions): void {
    this.#options.push(options);
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
