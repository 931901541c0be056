import type { GroupStore, MessageStore, Partition, PartitionStats, StoredMessage } from '../broker/broker.interface.js';
import type { DeadLetterStore } from '../broker/dead-letter-store.interface.js';
import type { Clock } from '../common/clock.js';
import { serveWithin } from '../common/serve-within.js';
import { DeadLetterOperator } from '../dead-letters/dead-letter.operator.js';
import type { DeadLetterGroups } from '../dead-letters/dead-letter-groups.interface.js';
import type {
  DeadLetterFilter,
  RemoveOptions,
  RemoveResult,
  RequeueOptions,
  RequeueResult,
} from '../dead-letters/dead-letter-options.interface.js';
import { assertId } from '../message/assert-id.js';
import { partitionOf } from '../message/partitioner.js';
import { readablePart } from '../message/readable-part.js';
import { fromStoredId, toStoredId } from '../message/stored-id.js';
import { type TopicRef, checkedTopicName } from '../message/topic.js';
import { locateById } from '../topics/locate-by-id.js';
import type { MessageDetails, PartitionStatus, TopicStats } from './topic-stats.interface.js';

export interface AdminDependencies {
  readonly store: MessageStore &
    Pick<GroupStore, 'configOf'> & { readonly deadLetters: DeadLetterStore; now(): number };
  readonly clock: Clock;
  /** Longest time for an answer, in milliseconds. */
  readonly timeout: number;
}

/**
 * Looks into topics: what waits, what is in flight, what is dead; and decides about dead letters. Inject it anywhere.
 *
 * @publicApi
 */
export class DelayQueueAdmin {
  readonly #store: AdminDependencies['store'];
  readonly #clock: Clock;
  readonly #timeout: number;
  readonly #deadLetters: DeadLetterOperator;

  constructor({ store, clock, timeout }: AdminDependencies) {
    this.#store = store;
    this.#clock = clock;
    this.#timeout = timeout;
    this.#deadLetters = new DeadLetterOperator({ store, clock, timeout });
  }

  /**
   * Counts what a topic holds; one short call a partition. A topic that was never used has no partitions.
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async stats(topic: TopicRef): Promise<TopicStats> {
    const name = checkedTopicName(topic);
    return serveWithin(this.#clock, this.#timeout, () => this.#stats(name));
  }

  /**
   * Looks a message up. An id without its key is looked for in its own partition first, then in the others.
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async get(topic: TopicRef, id: string | { id: string; key: string }): Promise<MessageDetails | undefined> {
    const name = checkedTopicName(topic);
    if (typeof id === 'object' && id !== null) {
      assertId('id', id.id);
      assertId('key', id.key);
    } else {
      assertId('id', id);
    }
    return serveWithin(this.#clock, this.#timeout, () => this.#find(name, id));
  }

  /**
   * Schedules dead letters again, with all their attempts before them: one by its id, or by id and key, or all that a
   * filter fits. Payload, headers and options stay as they are, deliveries count on. They go in steps of at most 200 of a
   * partition, by turns, so that no call takes long however many there are. An id without its key is looked for in its own
   * partition first, then in the others.
   *
   * @example
   * ```ts
   * await admin.requeue('order.timeout', '42', { payload: { orderId: '42', currency: 'EUR' } });
   * const { matched } = await admin.requeue('order.timeout', { reason: 'failed' }, { dryRun: true });
   * await admin.requeue('order.timeout', { reason: 'failed', since: Date.now() - 3_600_000 }, { rate: 50 });
   * ```
   *
   * @param which `{}` means every dead letter
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was sent
   * @throws BrokerUnavailableError where a step was not confirmed in time; those before it have taken effect
   */
  async requeue(
    topic: TopicRef,
    which: string | { id: string; key: string } | DeadLetterFilter,
    options: RequeueOptions = {},
  ): Promise<RequeueResult> {
    return this.#deadLetters.requeue(topic, which, options);
  }

  /**
   * Groups the dead letters of a topic by what they died of. It reads all of them, page by page, so it takes a while where
   * there are very many; nothing is blocked meanwhile.
   *
   * @example
   * ```ts
   * const { groups } = await admin.deadLetterGroups('order.timeout');
   * for (const { count, name, pattern, lastAt } of groups) console.log(count, `${name}: ${pattern}`, lastAt);
   * await admin.requeue('order.timeout', { fingerprint: groups[0].fingerprint }, { rate: 50 });
   * ```
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async deadLetterGroups(topic: TopicRef): Promise<DeadLetterGroups> {
    return this.#deadLetters.groups(topic);
  }

  /**
   * Removes dead letters for good: one by its id, or by id and key, or all that a filter fits; in steps, like
   * {@link requeue}.
   *
   * @param which `{}` means every dead letter
   * @throws InvalidArgumentError: nothing was sent
   * @throws BrokerUnavailableError where a step was not confirmed in time; those before it have taken effect
   */
  async remove(
    topic: TopicRef,
    which: string | { id: string; key: string } | DeadLetterFilter,
    options: RemoveOptions = {},
  ): Promise<RemoveResult> {
    return this.#deadLetters.remove(topic, which, options);
  }

  async #stats(name: string): Promise<TopicStats> {
    const count = (await this.#store.configOf(name))?.partitions ?? 0;
    const partitions = await Promise.all(
      Array.from({ length: count }, async (_, index) =>
        toStatus(index, await this.#store.stats({ topic: name, index })),
      ),
    );
    const sum = (value: (status: PartitionStatus) => number): number =>
      partitions.reduce((total, status) => total + value(status), 0);
    const dueTimes = partitions.flatMap(({ nextDueAt }) => (nextDueAt ? [nextDueAt.getTime()] : []));
    return {
      topic: name,
      scheduled: sum(({ scheduled }) => scheduled),
      due: sum(({ due }) => due),
      inFlight: sum(({ inFlight }) => inFlight),
      dead: sum(({ dead }) => dead),
      nextDueAt: dueTimes.length > 0 ? new Date(Math.min(...dueTimes)) : undefined,
      partitions,
    };
  }

  async #find(topic: string, id: string | { id: string; key: string }): Promise<MessageDetails | undefined> {
    const partitions = (await this.#store.configOf(topic))?.partitions;
    if (partitions === undefined) return undefined;
    if (typeof id === 'object') {
      return this.#get({ topic, index: partitionOf(id.key, partitions) }, toStoredId(id.id, id.key));
    }
    const own = await this.#get({ topic, index: partitionOf(id, partitions) }, id);
    if (own) return own;
    const [found] = await locateById(this.#store, topic, id, partitions);
    return found && this.#get(found.partition, found.storedId);
  }

  async #get(partition: Partition, storedId: string): Promise<MessageDetails | undefined> {
    const stored = await this.#store.get(partition, storedId);
    return stored && toDetails(partition, stored);
  }
}

function toStatus(partition: number, stats: PartitionStats): PartitionStatus {
  const { scheduled, due, inFlight, dead, nextDueAt, owner } = stats;
  return {
    partition,
    scheduled,
    due,
    inFlight,
    dead,
    nextDueAt: nextDueAt === undefined ? undefined : new Date(nextDueAt),
    owner,
  };
}

function toDetails({ topic, index }: Partition, stored: StoredMessage): MessageDetails {
  const { storedId, envelope, state, at, deliveries, attempts, failure, history } = stored;
  const { payload, headers } = readablePart(envelope);
  const common = {
    topic,
    partition: index,
    state,
    at: new Date(at),
    deliveries,
    attempts,
    failure,
    history,
    raw: envelope,
  };
  return { ...fromStoredId(storedId), ...common, payload, headers };
}
