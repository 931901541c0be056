import type { Broker } from '../store/broker.interface.js';
import type { CancelResult, RescheduleResult, TagCancelResult } from '../store/messages/change-message.js';
import type { CallId, Partition } from '../store/partition.js';
import type { Clock } from '../time/clock.js';
import type { Duration } from '../time/duration.js';
import type { LocalTime } from '../time/local-time.js';
import { serveWithin } from '../store/calls/serve.js';
import { assertMessageRef, type MessageRef } from '../messages/message-ref.js';
import { assertTag } from '../messages/tags.js';
import { type TopicRef, checkedTopicName } from '../messages/topic.js';
import { ChangeLane } from '../store/calls/change-lane.js';
import { requiredDueTime } from './due-time.js';
import { findMessage } from './find-message.js';
import { Lanes } from '../store/calls/lanes.js';
import { partitionsOf as allPartitionsOf } from '../store/partitions.js';

export interface ChangesDependencies {
  readonly store: Pick<Broker, 'messages'> & { now(): number };
  readonly clock: Clock;
  /** Name of this process as a caller of such changes. */
  readonly caller: string;
  /** Time limit until a change is confirmed or rejected, in milliseconds. */
  readonly timeout: number;
  /** Resolves with the number of partitions of a topic; `undefined` if it was never used, so it has no messages. */
  readonly partitionsOf: (topic: string) => Promise<number | undefined>;
}

/**
 * Result of cancelling the messages with a tag.
 *
 * @publicApi
 */
export interface CancelTaggedResult {
  /** Number of messages that waited and are cancelled. */
  readonly cancelled: number;
  /** Number of messages being handled: their signals abort, and no retry follows. */
  readonly inFlight: number;
}

/** Number of partitions that are processed at the same time. */
const PARTITIONS_AT_ONCE = 32;

/** A call that changes one message. */
export type MessageChange<R> = (partition: Partition, call: CallId, storedId: string) => Promise<R | 'not-found'>;

/** Finds messages by the names that callers know, and changes them one call at a time in each partition. */
export class MessageChanges {
  readonly #dependencies: ChangesDependencies;
  readonly #lanes: Lanes<ChangeLane>;

  constructor(dependencies: ChangesDependencies) {
    this.#dependencies = dependencies;
    const { clock, caller, timeout } = dependencies;
    this.#lanes = new Lanes((partition) => new ChangeLane({ clock, partition, timeout, caller }));
  }

  async cancel(topic: TopicRef, ref: MessageRef): Promise<CancelResult> {
    const { store } = this.#dependencies;
    return this.change(topic, ref, (partition, call, storedId) => store.messages.cancel(partition, call, storedId));
  }

  /**
   * Cancels all messages with a tag, some with each call.
   *
   * @param begin called before the first call, after the arguments have been checked
   */
  async cancelTagged(topic: TopicRef, tag: string, begin?: () => Promise<void>): Promise<CancelTaggedResult> {
    const topicName = checkedTopicName(topic);
    assertTag('tag', tag);
    const partitions = allPartitionsOf(topicName, (await this.#dependencies.partitionsOf(topicName)) ?? 0);
    const total = { cancelled: 0, inFlight: 0 };
    if (partitions.length > 0) await begin?.();
    for (let first = 0; first < partitions.length; first += PARTITIONS_AT_ONCE) {
      const some = partitions.slice(first, first + PARTITIONS_AT_ONCE);
      await Promise.all(some.map(async (partition) => this.#cancelTaggedIn(partition, tag, total)));
    }
    return total;
  }

  async #cancelTaggedIn(
    { topic, index }: Partition,
    tag: string,
    total: { cancelled: number; inFlight: number },
  ): Promise<void> {
    const { store } = this.#dependencies;
    const lane = this.#lanes.get(topic, index);
    let after: string | undefined;
    do {
      const result: TagCancelResult = await lane.send((partition, call) =>
        store.messages.cancelTagged(partition, call, tag, after),
      );
      total.cancelled += result.cancelled;
      total.inFlight += result.inFlight;
      after = result.next;
    } while (after !== undefined);
  }

  async reschedule(
    topic: TopicRef,
    ref: MessageRef,
    when: { delay: Duration } | { deliverAt: Date | number | LocalTime },
  ): Promise<RescheduleResult> {
    const { store } = this.#dependencies;
    const due = requiredDueTime(when, store.now());
    return this.change(topic, ref, (partition, call, storedId) =>
      store.messages.reschedule(partition, call, storedId, due),
    );
  }

  /**
   * Makes a call that changes one message, in the message's partition. An id without its key can mean several messages: the first one that
   * the call finds is changed, and dead letters come last.
   */
  async change<R>(topic: TopicRef, ref: MessageRef, change: MessageChange<R>): Promise<R | 'not-found'> {
    const { store, clock, timeout, partitionsOf } = this.#dependencies;
    const topicName = checkedTopicName(topic);
    assertMessageRef(ref);
    const partitions = await partitionsOf(topicName);
    if (partitions === undefined) return 'not-found';
    let otherwise: R | 'not-found' = 'not-found';
    const result = await findMessage(
      { topic: topicName, partitions, ref },
      (partition, id) => serveWithin(clock, timeout, () => store.messages.locate(partition, id)),
      async ({ index }, storedId) => {
        const lane = this.#lanes.get(topicName, index);
        const answer = await lane.send((partition, call) => change(partition, call, storedId));
        if (answer === 'dead') otherwise = answer;
        return answer === 'dead' || answer === 'not-found' ? undefined : answer;
      },
    );
    return result ?? otherwise;
  }
}
