import { v7 as uuidv7 } from 'uuid';
import { MAX_BATCH, type CallId, type Death, type Partition } from '../broker/broker.interface.js';
import { type PayloadSerializer, toStored } from '../messages/serializer.js';
import { type TopicRef, checkedTopicName, schemaOf } from '../messages/topic.js';
import { assertPayload } from '../messages/assert-payload.js';
import {
  type CheckedOptions,
  type CheckedSelection,
  type DeadLetterSelection,
  checkedRemoveOptions,
  checkedRequeueOptions,
  checkedSelection,
} from './checked-options.js';
import { DeadLetterFinder, type DeadLetterFinderOptions } from './dead-letter-finder.js';
import { DeadLetterGrouping } from './dead-letter-grouping.js';
import type { DeadLetterGroups } from './dead-letter-groups.interface.js';
import type {
  DeadLetterCounts,
  RemoveOptions,
  RemoveResult,
  RequeueOptions,
  RequeueResult,
} from './dead-letter-options.interface.js';
import { editedEnvelope } from './edited-envelope.js';
import { Pace } from './pace.js';

/** A call that changes some dead letters of one partition; answers which of them it has changed. */
type Change = (partition: Partition, call: CallId, letters: readonly Death[]) => Promise<boolean[]>;

export interface DeadLetterOperatorOptions extends DeadLetterFinderOptions {
  readonly serializerOf: (topic: string) => PayloadSerializer | undefined;
}

/** Requeues, removes and groups dead letters, one or many, in bounded steps. */
export class DeadLetterOperator {
  readonly #options: DeadLetterOperatorOptions;
  readonly #finder: DeadLetterFinder;

  constructor(options: DeadLetterOperatorOptions) {
    this.#options = options;
    this.#finder = new DeadLetterFinder(options);
  }

  /** @throws InvalidArgumentError, SerializationError, PayloadTooLargeError, InvalidPayloadError, BrokerUnavailableError */
  async requeue(topic: TopicRef, selection: DeadLetterSelection, options: RequeueOptions): Promise<RequeueResult> {
    const name = checkedTopicName(topic);
    const checked = checkedSelection(selection);
    const { delay, ...rest } = checkedRequeueOptions(options, checked);
    if (options.payload !== undefined && 'id' in checked) {
      return this.#requeueEdited(topic, checked, { ...rest, delay, payload: options.payload });
    }
    const { changed, ...counts } = await this.#change(name, checked, rest, (partition, call, letters) =>
      this.#options.store.requeueDead(partition, call, letters, delay),
    );
    return { ...counts, requeued: changed };
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError */
  async remove(topic: TopicRef, selection: DeadLetterSelection, options: RemoveOptions): Promise<RemoveResult> {
    const name = checkedTopicName(topic);
    const checked = checkedSelection(selection);
    const { changed, ...counts } = await this.#change(
      name,
      checked,
      checkedRemoveOptions(options),
      (partition, call, letters) => this.#options.store.removeDead(partition, call, letters),
    );
    return { ...counts, removed: changed };
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError */
  async groups(topic: TopicRef): Promise<DeadLetterGroups> {
    const grouping = new DeadLetterGrouping();
    for await (const letters of this.#finder.all(checkedTopicName(topic)))
      letters.forEach((letter) => grouping.add(letter));
    return grouping.result();
  }

  async #requeueEdited(
    topic: TopicRef,
    name: { id: string; key?: string },
    { dryRun, signal, delay, payload }: CheckedOptions & { delay: number; payload: unknown },
  ): Promise<RequeueResult> {
    const { store } = this.#options;
    const topicName = checkedTopicName(topic);
    // Tried before anything is asked of the broker: what cannot be stored fails whether or not there is such a message.
    const serializer = this.#options.serializerOf(topicName);
    const replacement = toStored(topicName, serializer, payload);
    const trial = editedEnvelope('', replacement, store.now());
    const schema = schemaOf(topic);
    if (schema) await assertPayload({ topic: topicName, schema, serializer }, { envelope: trial });
    if (signal.aborted) return { matched: 0, requeued: 0, aborted: true };
    const found = await this.#finder.one(topicName, name);
    if (!found) return { matched: 0, requeued: 0, aborted: false };
    if (dryRun) return { matched: 1, requeued: 0, aborted: false };
    const { partition, storedId, diedAt } = found;
    const edited = { storedId, diedAt, envelope: editedEnvelope(found.envelope, replacement, store.now()) };
    const call: CallId = { caller: uuidv7(), sequence: 1 };
    const [isRequeued] = await this.#finder.serve(() => store.requeueDead(partition, call, [edited], delay));
    return { matched: 1, requeued: isRequeued ? 1 : 0, aborted: false };
  }

  async #change(
    topic: string,
    selection: CheckedSelection,
    { dryRun, rate, signal }: CheckedOptions,
    change: Change,
  ): Promise<DeadLetterCounts & { readonly changed: number }> {
    const pace = new Pace({ clock: this.#options.clock, rate: dryRun ? undefined : rate, signal });
    // Of this call alone, so that calls made at the same time are not taken for each other's repeats.
    const caller = uuidv7();
    let sequence = 0;
    let [matched, changed] = [0, 0];
    for await (const { partition, letters } of this.#finder.portions(topic, selection, pace.portion(MAX_BATCH))) {
      if (!signal.aborted) await pace.take(letters.length);
      if (signal.aborted) return { matched, changed, aborted: true };
      matched += letters.length;
      if (dryRun) continue;
      const call: CallId = { caller, sequence: ++sequence };
      const results = await this.#finder.serve(() => change(partition, call, letters));
      changed += results.filter(Boolean).length;
    }
    return { matched, changed, aborted: false };
  }
}
