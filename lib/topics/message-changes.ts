import type { Broker, CallId, CancelResult, Partition } from '../broker/broker.interface.js';
import type { Clock } from '../time/clock.js';
import type { Duration } from '../time/duration.js';
import { serveWithin } from '../time/serve-within.js';
import { assertMessageName, type MessageName } from '../messages/assert-id.js';
import { partitionOf } from '../messages/partitioner.js';
import { toStoredId } from '../messages/stored-id.js';
import { type TopicRef, checkedTopicName } from '../messages/topic.js';
import { Lanes } from './lanes.js';
import { locateById } from './locate-by-id.js';
import { ChangeLane } from './change-lane.js';
import { requiredDueTime } from './due-time.js';

export interface ChangesDependencies {
  readonly store: Pick<Broker, 'cancel' | 'reschedule' | 'locate'> & { now(): number };
  readonly clock: Clock;
  /** Names this process among those that make such calls. */
  readonly caller: string;
  /** Longest time until a change is confirmed or rejected, in milliseconds. */
  readonly timeout: number;
  /** How many partitions a topic has; `undefined` where it has no message for certain. */
  readonly partitionsOf: (topic: string) => Promise<number | undefined>;
}

/** A call that changes one message. */
export type MessageChange<R> = (partition: Partition, call: CallId, storedId: string) => Promise<R | 'not-found'>;

/** Finds messages by the names that callers know, and changes them. */
export class MessageChanges {
  readonly #dependencies: ChangesDependencies;
  readonly #lanes: Lanes<ChangeLane>;

  constructor(dependencies: ChangesDependencies) {
    this.#dependencies = dependencies;
    const { clock, caller, timeout } = dependencies;
    this.#lanes = new Lanes((partition) => new ChangeLane({ clock, partition, timeout, caller }));
  }

  async cancel(topic: TopicRef, id: MessageName): Promise<CancelResult> {
    const { store } = this.#dependencies;
    return this.change(topic, id, (partition, call, storedId) => store.cancel(partition, call, storedId));
  }

  async reschedule(
    topic: TopicRef,
    id: MessageName,
    when: { delay: Duration } | { deliverAt: Date | number },
  ): Promise<boolean> {
    const { store } = this.#dependencies;
    const due = requiredDueTime(when, store.now());
    const result = await this.change(topic, id, (partition, call, storedId) =>
      store.reschedule(partition, call, storedId, due),
    );
    return result === 'rescheduled';
  }

  /** Calls the partition where the message is; of several that an id without its key may mean, the first one counts. */
  async change<R>(topic: TopicRef, id: MessageName, change: MessageChange<R>): Promise<R | 'not-found'> {
    const { store, clock, timeout, partitionsOf } = this.#dependencies;
    const name = checkedTopicName(topic);
    assertMessageName(id);
    const partitions = await partitionsOf(name);
    if (partitions === undefined) return 'not-found';
    const send = (index: number, storedId: string): Promise<R | 'not-found'> =>
      this.send({ topic: name, index }, (partition, call) => change(partition, call, storedId));
    if (typeof id === 'object') return send(partitionOf(id.key, partitions), toStoredId(id.id, id.key));
    const result = await send(partitionOf(id, partitions), toStoredId(id));
    if (result !== 'not-found') return result;
    const found = await serveWithin(clock, timeout, () => locateById(store, name, id, partitions));
    for (const { partition, storedId } of found) {
      const answer = await send(partition.index, storedId);
      if (answer !== 'not-found') return answer;
    }
    return 'not-found';
  }

  /** Makes a call after those that were made to the partition before. See {@link ChangeLane.send}. */
  async send<T>(
    { topic, index }: Partition,
    operation: (partition: Partition, call: CallId) => Promise<T>,
  ): Promise<T> {
    return this.#lanes.get(topic, index).send(operation);
  }
}
