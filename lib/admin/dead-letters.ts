import type { Death, ListedDeadLetter, Requeue } from '../store/dead-letters/dead-letters.js';
import { type CallId, MAX_BATCH, type Partition } from '../store/partition.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { MessageRef } from '../messages/message-ref.js';
import { assertPayload } from '../messages/payload-schema.js';
import { partitionOf } from '../messages/partitioner.js';
import { type StoredPayload, toStored } from '../messages/serializer.js';
import { type TopicRef, checkedTopicName, schemaOf } from '../messages/topic.js';
import { findMessage } from '../producer/find-message.js';
import { existingPartitions, partitionCount, partitionsOf } from '../store/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type BulkStep, runBulk, stepSize } from './bulk.js';
import {
  type BulkOptions,
  type BulkResult,
  type CheckedBulkOptions,
  type RequeueOptions,
  checkedOptionsOf,
  checkedRequeueOptions,
} from './bulk-options.js';
import {
  type CheckedFilter,
  type CheckedSelection,
  type DeadLetterSelection,
  checkedSelection,
  isMeant,
  needsFailures,
} from './dead-letter-filter.js';
import { DeadLetterGrouping, type DeadLetterGroups } from './dead-letter-groups.js';
import { editedEnvelope } from './edit-payload.js';
import { toDetails } from './message-details.js';

/** A dead letter that is to be changed. */
interface MeantDeadLetter extends Death {
  /** The stored envelope; known only if the letter was looked up by its name. */
  readonly envelope?: string;
}

/** Changes dead letters of one partition; returns for each whether it was changed. */
type Change = (partition: Partition, call: CallId, letters: readonly MeantDeadLetter[]) => Promise<boolean[]>;

/** Called before the first step of a change to many dead letters. */
type Begin = () => Promise<void>;

/** Requeues, removes and groups dead letters. */
export class DeadLetters {
  readonly #dependencies: AdminDependencies;

  constructor(dependencies: AdminDependencies) {
    this.#dependencies = dependencies;
  }

  async requeue(
    topic: TopicRef,
    which: DeadLetterSelection,
    options: RequeueOptions,
    begin?: Begin,
  ): Promise<BulkResult> {
    const name = checkedTopicName(topic);
    const selection = checkedSelection(which);
    const { delay, ...checked } = checkedRequeueOptions(options);
    const { payload } = options;
    if (payload !== undefined && 'filter' in selection) {
      throw new InvalidArgumentError('payload is for a single dead letter. Name it by its id, or by { id, key }.');
    }
    const { broker } = this.#dependencies;
    const replacement = payload === undefined ? undefined : await this.#checkedPayload(topic, payload);
    return this.#change(name, selection, { ...checked, begin }, (partition, call, letters) => {
      const requeues = letters.map((letter) => toRequeue(letter, replacement, broker.now()));
      return broker.deadLetters.requeueDead(partition, call, requeues, delay);
    });
  }

  async remove(topic: TopicRef, which: DeadLetterSelection, options: BulkOptions, begin?: Begin): Promise<BulkResult> {
    const name = checkedTopicName(topic);
    const selection = checkedSelection(which);
    const checked = checkedOptionsOf('remove', options);
    const { broker } = this.#dependencies;
    return this.#change(name, selection, { ...checked, begin }, (partition, call, letters) =>
      broker.deadLetters.removeDead(partition, call, letters),
    );
  }

  async groups(topic: TopicRef): Promise<DeadLetterGroups> {
    const name = checkedTopicName(topic);
    const config = await this.#served(() => this.#dependencies.broker.fleet.configOf(name));
    const grouping = new DeadLetterGrouping();
    for (const partition of partitionsOf(name, config?.partitions ?? 0)) {
      for await (const letters of this.#scan(partition, {}, true)) letters.forEach((letter) => grouping.add(letter));
    }
    return grouping.result();
  }

  /** Refuses a payload that cannot be stored or does not fit the schema, whether or not the message exists. */
  async #checkedPayload(topic: TopicRef, payload: unknown): Promise<StoredPayload> {
    const name = checkedTopicName(topic);
    const serializer = this.#dependencies.serializerOf(name);
    const replacement = toStored(name, serializer, payload);
    const envelope = editedEnvelope('', replacement, this.#dependencies.broker.now());
    const schema = schemaOf(topic);
    if (schema) await assertPayload({ topic: name, schema, serializer }, envelope);
    return replacement;
  }

  async #change(
    topic: string,
    selection: CheckedSelection,
    { begin, ...options }: CheckedBulkOptions & { readonly begin: Begin | undefined },
    change: Change,
  ): Promise<BulkResult> {
    const steps =
      'ref' in selection
        ? [this.#stepFor(topic, selection.ref, change)]
        : (await this.#partitionsFor(topic, selection.filter)).map((partition) =>
            this.#stepsIn(partition, selection.filter, stepSize(options), change),
          );
    // A single step needs no announcement.
    return runBulk(this.#dependencies, steps, options, 'ref' in selection ? undefined : begin);
  }

  async *#stepFor(topic: string, ref: MessageRef, change: Change): AsyncGenerator<BulkStep, void> {
    const { broker } = this.#dependencies;
    const partitions = await this.#served(() => partitionCount(broker, topic));
    if (partitions === undefined) return;
    const found = await findMessage(
      { topic, partitions, ref },
      (partition, id) => this.#served(() => broker.messages.locate(partition, id)),
      async (partition, storedId) => {
        const stored = await this.#served(() => broker.messages.get(partition, storedId));
        if (stored?.state !== 'dead') return undefined;
        return this.#toStep(partition, [{ storedId, diedAt: stored.at, envelope: stored.envelope }], change);
      },
    );
    if (found) yield found;
  }

  async *#stepsIn(
    partition: Partition,
    filter: CheckedFilter,
    size: number,
    change: Change,
  ): AsyncGenerator<BulkStep, void> {
    for await (const page of this.#scan(partition, filter, needsFailures(filter))) {
      // Without the failures, which may be long: every partition's page is kept while the others have their turn.
      const deaths = page.map(({ storedId, diedAt }): Death => ({ storedId, diedAt }));
      for (let from = 0; from < deaths.length; from += size) {
        yield this.#toStep(partition, deaths.slice(from, from + size), change);
      }
    }
  }

  /** Returns the partitions that can hold messages that match the filter. */
  async #partitionsFor(topic: string, { key }: CheckedFilter): Promise<Partition[]> {
    const partitions = await this.#served(() => existingPartitions(this.#dependencies.broker, topic));
    return key === undefined ? partitions : [{ topic, index: partitionOf(key, partitions.length) }];
  }

  /**
   * Reads the matching dead letters of a partition, page by page. Those that were there all along are read once. Those that die after the
   * first page are not read, so that a message that is requeued and dies again does not keep the scan going.
   */
  async *#scan(
    partition: Partition,
    filter: CheckedFilter,
    withFailures: boolean,
  ): AsyncGenerator<ListedDeadLetter[], void> {
    const { broker } = this.#dependencies;
    let { until } = filter;
    let after: Death | undefined;
    do {
      const query = { after, since: filter.since, until, limit: MAX_BATCH, withFailures };
      const { letters, next, now } = await this.#served(() => broker.deadLetters.listDead(partition, query));
      until = Math.min(until ?? Infinity, now + 1);
      after = next;
      const meant = letters.filter((letter) => isMeant(letter, filter));
      if (meant.length > 0) yield meant;
    } while (after !== undefined);
  }

  #toStep(partition: Partition, letters: readonly MeantDeadLetter[], change: Change): BulkStep {
    return {
      matched: letters.length,
      examples: async (most) => {
        const { broker, serializerOf } = this.#dependencies;
        const some = letters
          .slice(0, most)
          .map(({ storedId }) => this.#served(() => broker.messages.get(partition, storedId)));
        const serializer = serializerOf(partition.topic);
        return (await Promise.all(some)).flatMap((stored) =>
          stored ? [toDetails(partition, stored, serializer)] : [],
        );
      },
      apply: async (send) => (await send((call) => change(partition, call, letters))).filter(Boolean).length,
    };
  }

  #served<T>(call: () => Promise<T>): Promise<T> {
    return served(this.#dependencies, call);
  }
}

/** @param replacement another payload, for a letter that was looked up by its name */
function toRequeue(
  { storedId, diedAt, envelope }: MeantDeadLetter,
  replacement: StoredPayload | undefined,
  now: number,
): Requeue {
  if (!replacement || envelope === undefined) return { storedId, diedAt };
  return { storedId, diedAt, envelope: editedEnvelope(envelope, replacement, now) };
}
