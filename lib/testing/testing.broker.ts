import { v7 as uuidv7 } from 'uuid';
import type { BrokerLink } from '../broker/broker-link.interface.js';
import type {
  AcquireResult,
  Broker,
  CallId,
  CancelResult,
  ClaimRequest,
  ClaimResult,
  DueTime,
  ExtendStatus,
  Member,
  NewMessage,
  Partition,
  PartitionSignal,
  PartitionStats,
  PublishResult,
  Receipt,
  RenewResult,
  RescheduleResult,
  SettleStatus,
  Settlement,
  StoredMessage,
  TopicConfig,
  Unsubscribe,
} from '../broker/broker.interface.js';
import type { EventLog } from '../broker/event-log.interface.js';
import type { DeadLetterStore } from '../broker/dead-letter-store.interface.js';
import type { MemoryBroker } from '../broker/memory/memory.broker.js';
import type { Failure } from '../messages/failure.js';
import type { Activity } from './activity.js';
import type { BrokerOperation, Faults } from './faults.js';
import type { Outages } from './outages.js';
import type { PublishedMessages } from './published-messages.js';
import { TestingAdminStore } from './testing-admin-store.js';

export interface TestingBrokerOptions {
  readonly memory: MemoryBroker;
  readonly activity: Activity;
  readonly faults: Faults;
  readonly outages: Outages;
  readonly published: PublishedMessages;
}

/** The broker in memory as an application under test has it: watched, and failing where the test says so. */
export class TestingBroker implements Broker {
  readonly link: BrokerLink;
  readonly admin = new TestingAdminStore((operation, run) => this.#call(operation, ({ admin }) => run(admin)));
  readonly deadLetters: DeadLetterStore = {
    listDead: async (...args) => this.#call('listDead', ({ deadLetters }) => deadLetters.listDead(...args)),
    requeueDead: async (...args) => this.#call('requeueDead', ({ deadLetters }) => deadLetters.requeueDead(...args)),
    removeDead: async (...args) => this.#call('removeDead', ({ deadLetters }) => deadLetters.removeDead(...args)),
  };
  readonly #options: TestingBrokerOptions;
  /** Part of the names of its deliveries: another connection may have a topic of the same name. */
  readonly #id = uuidv7();

  constructor(options: TestingBrokerOptions) {
    this.#options = options;
    this.link = {
      ...options.memory.link,
      ping: async () => {
        options.activity.called();
        await options.outages.assertReachable();
      },
    };
  }

  get eventLog(): EventLog {
    return this.#options.memory.eventLog;
  }

  now(): number {
    return this.#options.memory.now();
  }

  async connect(): Promise<void> {
    // Nobody moves the clock while an application boots.
    this.#options.outages.assertNone();
    return this.#call('connect', (memory) => memory.connect());
  }

  async close(): Promise<void> {
    await this.#options.memory.close();
  }

  async publish(partition: Partition, call: CallId, messages: readonly NewMessage[]): Promise<PublishResult[]> {
    return this.#call('publish', async (memory) => {
      const results = await memory.publish(partition, call, messages);
      this.#options.published.record(partition, call, messages, results);
      return results;
    });
  }

  async cancel(partition: Partition, call: CallId, storedId: string): Promise<CancelResult> {
    return this.#call('cancel', (memory) => memory.cancel(partition, call, storedId));
  }

  async reschedule(partition: Partition, call: CallId, storedId: string, due: DueTime): Promise<RescheduleResult> {
    return this.#call('reschedule', (memory) => memory.reschedule(partition, call, storedId, due));
  }

  async locate(partition: Partition, id: string): Promise<string[]> {
    return this.#call('locate', (memory) => memory.locate(partition, id));
  }

  async claim(partition: Partition, request: ClaimRequest): Promise<ClaimResult> {
    const { activity } = this.#options;
    const result = await this.#call('claim', (memory) => memory.claim(partition, request));
    if (result.status === 'not-owner') return result;
    for (const message of result.messages) activity.began(partition.topic, this.#delivery(partition, message));
    return result;
  }

  async settle(partition: Partition, call: CallId, settlements: readonly Settlement[]): Promise<SettleStatus[]> {
    const { activity } = this.#options;
    for (const settlement of settlements) activity.ended(this.#delivery(partition, settlement));
    return this.#call('settle', (memory) => memory.settle(partition, call, settlements));
  }

  async extend(partition: Partition, lease: number, receipts: readonly Receipt[]): Promise<ExtendStatus[]> {
    return this.#call('extend', (memory) => memory.extend(partition, lease, receipts));
  }

  async setAside(partition: Partition, receipt: Receipt, failure: Failure): Promise<string | undefined> {
    const { activity } = this.#options;
    if (receipt.token > 0) activity.ended(this.#delivery(partition, receipt));
    return this.#call('setAside', (memory) => memory.setAside(partition, receipt, failure));
  }

  async get(partition: Partition, storedId: string): Promise<StoredMessage | undefined> {
    return this.#call('get', (memory) => memory.get(partition, storedId));
  }

  async stats(partition: Partition): Promise<PartitionStats> {
    return this.#call('stats', (memory) => memory.stats(partition));
  }

  async trimDead(
    partition: Partition,
    limits: { maxAge?: number | undefined; maxCount?: number | undefined },
  ): Promise<number | undefined> {
    return this.#call('trimDead', (memory) => memory.trimDead(partition, limits));
  }

  async configure(topic: string, partitions: number): Promise<TopicConfig> {
    return this.#call('configure', (memory) => memory.configure(topic, partitions));
  }

  async configOf(topic: string): Promise<TopicConfig | undefined> {
    return this.#call('configOf', (memory) => memory.configOf(topic));
  }

  async join(topic: string, member: string, session: number, holdings: readonly number[]): Promise<Member[]> {
    return this.#call('join', (memory) => memory.join(topic, member, session, holdings));
  }

  async leave(topic: string, member: string): Promise<void> {
    return this.#call('leave', (memory) => memory.leave(topic, member));
  }

  async hasMembers(topic: string): Promise<boolean> {
    return this.#call('hasMembers', (memory) => memory.hasMembers(topic));
  }

  async acquire(partition: Partition, member: string, session: number): Promise<AcquireResult> {
    return this.#call('acquire', (memory) => memory.acquire(partition, member, session));
  }

  async renew(partition: Partition, member: string, session: number): Promise<RenewResult> {
    return this.#call('renew', (memory) => memory.renew(partition, member, session));
  }

  async release(partition: Partition, member: string): Promise<void> {
    return this.#call('release', (memory) => memory.release(partition, member));
  }

  /** During an outage nothing changes, so there is no signal that could come through. */
  watchPartition(partition: Partition, listener: (signal: PartitionSignal) => void): Unsubscribe {
    return this.#options.memory.watchPartition(partition, listener);
  }

  watchMembers(topic: string, listener: () => void): Unsubscribe {
    return this.#options.memory.watchMembers(topic, listener);
  }

  onAvailable(listener: () => void): () => void {
    return this.#options.outages.onEnd(listener);
  }

  onError(): () => void {
    return this.#options.memory.onError();
  }

  #delivery({ topic, index }: Partition, { token }: Receipt): string {
    return `${this.#id}:${topic}:${index}:${token}`;
  }

  async #call<T>(operation: BrokerOperation, run: (memory: MemoryBroker) => Promise<T>): Promise<T> {
    const { memory, activity, outages, faults } = this.#options;
    activity.called();
    await outages.assertReachable();
    const fault = faults.next(operation);
    if (!fault) return run(memory);
    if (fault.lostReply) await run(memory);
    throw fault.error;
  }
}
