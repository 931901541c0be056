import type { Clock } from '../../time/clock.js';
import type { Failure } from '../../messages/failure.js';
import { assertDelays, assertDue, assertDues, assertLength } from '../assert-times.js';
import {
  PROTOCOL_VERSION,
  type AcquireResult,
  type Broker,
  type CallId,
  type CancelResult,
  type ClaimRequest,
  type ClaimResult,
  type DueTime,
  type ExtendStatus,
  type Member,
  type NewMessage,
  type Partition,
  type PartitionSignal,
  type PartitionStats,
  type PublishResult,
  type Receipt,
  type RenewResult,
  type RescheduleResult,
  type SettleStatus,
  type Settlement,
  type StoredMessage,
  type TopicConfig,
  type Unsubscribe,
} from '../broker.interface.js';
import { MEMORY_LINK } from './memory-link.js';
import { MemoryEventLog } from './memory-event-log.js';
import { MemoryAdminStore } from './memory-admin-store.js';
import { MemoryDeadLetterStore } from './memory-dead-letter-store.js';
import { MemoryPartition } from './memory-partition.js';

interface Owner {
  readonly member: string;
  expiresAt: number;
}

interface MemoryTopic {
  config: TopicConfig | undefined;
  readonly members: Map<string, { expiresAt: number; holdings: readonly number[] }>;
}

/**
 * Keeps messages in this process, on a clock that a test can move. Several runtimes may share one instance, as the
 * processes of a fleet share a Redis.
 */
export class MemoryBroker implements Broker {
  readonly link = MEMORY_LINK;
  readonly eventLog = new MemoryEventLog();
  readonly admin = new MemoryAdminStore({
    topics: () => this.topics.filter((topic) => this.#topics.get(topic)?.config),
    partition: (partition) => this.#partition(partition).admin,
  });
  readonly deadLetters = new MemoryDeadLetterStore((partition) => this.#partition(partition).deadLetters);
  readonly #clock: Clock;
  readonly #topics = new Map<string, MemoryTopic>();
  readonly #partitions = new Map<string, MemoryPartition>();
  readonly #owners = new Map<string, Owner>();
  readonly #partitionListeners = new Map<string, Set<(signal: PartitionSignal) => void>>();
  readonly #memberListeners = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  async connect(): Promise<void> {}

  async close(): Promise<void> {}

  async publish(partition: Partition, call: CallId, messages: readonly NewMessage[]): Promise<PublishResult[]> {
    assertDues(messages);
    return this.#partition(partition).publish(call, messages);
  }

  async cancel(partition: Partition, call: CallId, storedId: string): Promise<CancelResult> {
    return this.#partition(partition).cancel(call, storedId);
  }

  async reschedule(partition: Partition, call: CallId, storedId: string, due: DueTime): Promise<RescheduleResult> {
    assertDue(due);
    return this.#partition(partition).reschedule(call, storedId, due);
  }

  async locate(partition: Partition, id: string): Promise<string[]> {
    return this.#partition(partition).locate(id);
  }

  async claim(partition: Partition, request: ClaimRequest): Promise<ClaimResult> {
    assertLength('The lease', request.lease);
    if (this.#owner(partition)?.member !== request.member) return { status: 'not-owner' };
    return this.#partition(partition).claim(request);
  }

  async settle(partition: Partition, call: CallId, settlements: readonly Settlement[]): Promise<SettleStatus[]> {
    assertDelays(settlements);
    return this.#partition(partition).settle(call, settlements);
  }

  async extend(partition: Partition, lease: number, receipts: readonly Receipt[]): Promise<ExtendStatus[]> {
    assertLength('The lease', lease);
    return this.#partition(partition).extend(lease, receipts);
  }

  async setAside(partition: Partition, receipt: Receipt, failure: Failure): Promise<string | undefined> {
    return this.#partition(partition).setAside(receipt, failure) ? receipt.storedId : undefined;
  }

  async get(partition: Partition, storedId: string): Promise<StoredMessage | undefined> {
    return this.#partition(partition).get(storedId);
  }

  async stats(partition: Partition): Promise<PartitionStats> {
    return this.#partition(partition).admin.stats(this.#owner(partition)?.member);
  }

  async trimDead(
    partition: Partition,
    { maxAge, maxCount }: { maxAge?: number | undefined; maxCount?: number | undefined },
  ): Promise<number | undefined> {
    return this.#partition(partition).deadLetters.trim(maxAge, maxCount);
  }

  async configure(topic: string, partitions: number): Promise<TopicConfig> {
    return (this.#topic(topic).config ??= { partitions, protocol: PROTOCOL_VERSION });
  }

  async configOf(topic: string): Promise<TopicConfig | undefined> {
    return this.#topics.get(topic)?.config;
  }

  async join(topic: string, member: string, session: number, holdings: readonly number[]): Promise<Member[]> {
    const { members } = this.#topic(topic);
    const now = this.#clock.now();
    const known = members.get(member);
    let changed = known?.holdings.join() !== holdings.join();
    members.set(member, { expiresAt: now + session, holdings: [...holdings] });
    for (const [id, { expiresAt }] of members) {
      if (expiresAt <= now) changed = members.delete(id);
    }
    if (changed) this.#announceMembers(topic);
    return [...members]
      .map(([id, { expiresAt, holdings: held }]) => ({ id, expiresAt, holdings: held }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  async leave(topic: string, member: string): Promise<void> {
    if (this.#topic(topic).members.delete(member)) this.#announceMembers(topic);
  }

  async hasMembers(topic: string): Promise<boolean> {
    const now = this.#clock.now();
    return [...(this.#topics.get(topic)?.members.values() ?? [])].some(({ expiresAt }) => expiresAt > now);
  }

  async acquire(partition: Partition, member: string, session: number): Promise<AcquireResult> {
    const owner = this.#owner(partition);
    if (owner && owner.member !== member) return { acquired: false, retryAt: owner.expiresAt };
    this.#owners.set(nameOf(partition), { member, expiresAt: this.#clock.now() + session });
    return { acquired: true, token: this.#partition(partition).token };
  }

  async renew(partition: Partition, member: string, session: number): Promise<RenewResult> {
    const owner = this.#owner(partition);
    if (owner) owner.expiresAt = this.#clock.now() + session;
    return { owned: owner?.member === member, nextDueAt: this.#partition(partition).nextDueAt };
  }

  async release(partition: Partition, member: string): Promise<void> {
    if (this.#owner(partition)?.member === member) this.#owners.delete(nameOf(partition));
  }

  /** No signal is ever lost here. */
  watchPartition(partition: Partition, listener: (signal: PartitionSignal) => void): Unsubscribe {
    return subscribe(this.#partitionListeners, nameOf(partition), listener);
  }

  watchMembers(topic: string, listener: () => void): Unsubscribe {
    return subscribe(this.#memberListeners, topic, listener);
  }

  onAvailable(): () => void {
    return () => {};
  }

  /** Nor can a connection fail. */
  onError(): () => void {
    return () => {};
  }

  /** The topics that were used so far. */
  get topics(): string[] {
    return [...this.#topics.keys()];
  }

  /** All that a topic holds in this state, in order of {@link StoredMessage.at}. */
  list(
    topic: string,
    state: StoredMessage['state'],
  ): { readonly partition: Partition; readonly stored: StoredMessage }[] {
    const count = this.#topics.get(topic)?.config?.partitions ?? 0;
    const places = Array.from({ length: count }, (_, index): Partition => ({ topic, index }));
    return places
      .flatMap((partition) =>
        this.#partition(partition)
          .admin.list(state)
          .map((stored) => ({ partition, stored })),
      )
      .toSorted((a, b) => a.stored.at - b.stored.at);
  }

  #topic(name: string): MemoryTopic {
    let topic = this.#topics.get(name);
    if (!topic) {
      topic = { config: undefined, members: new Map() };
      this.#topics.set(name, topic);
    }
    return topic;
  }

  #partition(partition: Partition): MemoryPartition {
    const name = nameOf(partition);
    let found = this.#partitions.get(name);
    if (!found) {
      const signal = (message: PartitionSignal): void => {
        for (const listener of this.#partitionListeners.get(name) ?? []) queueMicrotask(() => listener(message));
      };
      found = new MemoryPartition(() => this.#clock.now(), signal);
      this.#partitions.set(name, found);
    }
    return found;
  }

  #owner(partition: Partition): Owner | undefined {
    const name = nameOf(partition);
    const owner = this.#owners.get(name);
    if (owner && owner.expiresAt > this.#clock.now()) return owner;
    this.#owners.delete(name);
    return undefined;
  }

  #announceMembers(topic: string): void {
    for (const listener of this.#memberListeners.get(topic) ?? []) queueMicrotask(listener);
  }
}

function nameOf({ topic, index }: Partition): string {
  return `${topic}:${index}`;
}

function subscribe<T>(listeners: Map<string, Set<T>>, name: string, listener: T): Unsubscribe {
  let all = listeners.get(name);
  if (!all) listeners.set(name, (all = new Set()));
  all.add(listener);
  return async () => {
    all.delete(listener);
  };
}
