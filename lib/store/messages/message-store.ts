import { toStoredId } from '../../messages/stored-id.js';
import { PartitionScripts } from '../calls/partition-scripts.js';
import type { Driver } from '../driver.interface.js';
import type { StoreKeys } from '../keys.js';
import { type CallId, MAX_BATCH, type Partition } from '../partition.js';
import type { StoreOptions } from '../store-options.interface.js';
import {
  type CancelResult,
  type ClearResult,
  type EnvelopeEdit,
  type EnvelopeEditResult,
  type RescheduleResult,
  type SeenMessage,
  type TagCancelResult,
  cancelResult,
  editResult,
  rescheduleResult,
  tagCancelResult,
} from './change-message.js';
import { type MessageLook, messageLook } from './message-look.js';
import { type DueCounts, PartitionCounts, type PartitionStats } from './partition-counts.js';
import {
  type DueTime,
  type NewMessage,
  type PublishResult,
  type PublishTerms,
  assertDue,
  assertMessages,
  encodeColumns,
  encodeDueTime,
  encodeMessages,
  publishResults,
} from './publish.js';
import {
  type PeekRequest,
  type PeekedMessages,
  type StoredMessage,
  peekedEndings,
  peekedMessages,
  storedMessage,
  taggedMessages,
} from './stored-message.js';

/** Field beside the counters of a partition. */
const LIFE = 'life';

const NO_TERMS: PublishTerms = {};

/** Operations on waiting messages, and look-ups of all messages. */
export class MessageStore {
  readonly #driver: Driver;
  readonly #keys: StoreKeys;
  readonly #scripts: PartitionScripts;
  readonly #counts: PartitionCounts;

  constructor(options: StoreOptions) {
    this.#driver = options.driver;
    this.#keys = options.keys;
    this.#scripts = new PartitionScripts(options);
    this.#counts = new PartitionCounts(options);
  }

  // The arguments of frequent calls are written out, since spreading an object takes as long as all else here.
  /** Publishes 1 to `MAX_BATCH` messages, and answers in their order. */
  async publish(
    partition: Partition,
    call: CallId,
    messages: readonly NewMessage[],
    { replicas, order }: PublishTerms = NO_TERMS,
  ): Promise<PublishResult[]> {
    assertMessages(messages);
    const given = {
      ...this.#scripts.named(partition, call),
      remember_ms: call.rememberFor ?? '',
      order_mode: order ?? '',
      columns: encodeColumns(messages),
      rest: encodeMessages(messages),
    };
    if (!replicas) return publishResults(await this.#scripts.run('publish', partition, given), messages);
    const place = this.#keys.partition(partition);
    const { reply, confirmedBy } = await this.#driver.runReplicated('publish', place, given, replicas);
    return publishResults(reply, messages).map((result) => ({ ...result, confirmedBy }));
  }

  /** @param seen the message as seen: if it no longer waits like that, it is not found */
  async cancel(partition: Partition, call: CallId, id: string, seen?: SeenMessage): Promise<CancelResult> {
    return cancelResult(
      await this.#scripts.run('cancel', partition, {
        ...this.#scripts.named(partition, call),
        remember_ms: call.rememberFor ?? '',
        id,
        seen_at: seen?.at ?? '',
        seen_envelope: seen?.envelope ?? '',
      }),
    );
  }

  /**
   * Cancels some of the messages that carry a tag, each as {@link cancel} does; dead letters stay.
   *
   * @param after begins behind this stored id; `undefined`: at the first
   */
  async cancelTagged(
    partition: Partition,
    call: CallId,
    tag: string,
    after: string | undefined,
  ): Promise<TagCancelResult> {
    const given = {
      ...this.#scripts.named(partition, call),
      tag,
      after_id: after ?? '',
    };
    return tagCancelResult(await this.#scripts.run('cancel-tagged', partition, given));
  }

  /**
   * Moves a message that waits to another due time; if it does not wait, nothing changes.
   *
   * @param seen the message as seen: if it no longer waits like that, it is not found
   */
  async reschedule(
    partition: Partition,
    call: CallId,
    id: string,
    due: DueTime,
    seen?: SeenMessage,
  ): Promise<RescheduleResult> {
    assertDue(due);
    const given = {
      ...this.#scripts.named(partition, call),
      remember_ms: call.rememberFor ?? '',
      id,
      due_spec: encodeDueTime(due),
      when: 'always',
      seen_at: seen?.at ?? '',
      seen_envelope: seen?.envelope ?? '',
    };
    return rescheduleResult(await this.#scripts.run('reschedule', partition, given));
  }

  /** Makes a message that waits due now; one that is due already keeps its time. */
  async runNow(partition: Partition, call: CallId, id: string): Promise<RescheduleResult> {
    const given = {
      ...this.#scripts.named(partition, call),
      remember_ms: '',
      id,
      due_spec: '+0',
      when: 'earlier',
      seen_at: '',
      seen_envelope: '',
    };
    return rescheduleResult(await this.#scripts.run('reschedule', partition, given));
  }

  async edit(
    partition: Partition,
    call: CallId,
    { storedId: id, expected, envelope }: EnvelopeEdit,
  ): Promise<EnvelopeEditResult> {
    const given = {
      ...this.#scripts.named(partition, call),
      id,
      expected,
      envelope,
    };
    return editResult(await this.#scripts.run('edit', partition, given));
  }

  /** Removes some of the messages that wait (they count as cancelled) or are dead, in their order. */
  async clear(partition: Partition, call: CallId, state: 'scheduled' | 'dead'): Promise<ClearResult> {
    const set = this.#keys.partition(partition)[state];
    const counter = state === 'scheduled' ? 'cancelled' : '';
    const given = { ...this.#scripts.named(partition, call), set, counter };
    const [removed, more] = await this.#scripts.run('clear', partition, given);
    return { removed: removed as number, more: more === 1 };
  }

  async get(partition: Partition, id: string): Promise<StoredMessage | undefined> {
    return storedMessage(id, await this.#scripts.run('get', partition, { id }));
  }

  /** Looks up everything that decides when a message is delivered. */
  async explain(partition: Partition, id: string): Promise<MessageLook | undefined> {
    return messageLook(await this.#scripts.run('explain', partition, { id }));
  }

  /** Returns the stored ids of the messages that have this id and a key of their own, in order, at most `MAX_BATCH`. */
  async locate(partition: Partition, id: string): Promise<string[]> {
    const { keyed } = this.#keys.partition(partition);
    const name = toStoredId(id);
    return this.#driver.call([keyed], (redis) =>
      redis.zrangebylex(keyed, `[${name}\0`, `(${name}\x01`, 'LIMIT', 0, MAX_BATCH),
    );
  }

  async peek(partition: Partition, request: PeekRequest): Promise<PeekedMessages> {
    const { state, blocked, after, limit, maxBytes, tag } = request;
    if (tag !== undefined) {
      const given = { tag, state, limit, max_bytes: maxBytes, after_id: after?.storedId ?? '' };
      return taggedMessages(state, await this.#scripts.run('list-tagged', partition, given));
    }
    const stored = state === 'due' ? 'scheduled' : state;
    const keys = this.#keys.partition(partition);
    const { inflight, dead, finished, endings } = keys;
    const scheduled = blocked ? keys.blocked : keys.scheduled;
    const given = {
      set: { scheduled, 'in-flight': inflight, dead, finished }[stored],
      limit,
      max_bytes: maxBytes,
      since: '-inf',
      till: state === 'due' ? 'now' : 'inf',
      is_dead: state === 'dead' ? 1 : 0,
      after_score: after?.at ?? '',
      after_id: after?.storedId ?? '',
    };
    if (stored !== 'finished') {
      return peekedMessages(stored, await this.#scripts.run('list', partition, { ...given, fields: 'edf' }));
    }
    // A finished message has all its data in one place.
    const reply = await this.#driver.run('list', { ...keys, messages: endings }, { ...given, fields: 'e' });
    return peekedEndings(reply);
  }

  async stats(partition: Partition): Promise<PartitionStats> {
    return this.#counts.stats(partition);
  }

  /**
   * Names the contents of a partition, from the first call on until Redis loses them: messages seen under another name may be
   * lost, and those that are gone under the same name were removed.
   *
   * @param fresh the name if it has none yet; `undefined` only looks
   */
  async lifeOf(partition: Partition, fresh?: string): Promise<string | undefined> {
    const { meta } = this.#keys.partition(partition);
    const life = await this.#driver.call([meta], async (redis) => {
      if (fresh !== undefined) await redis.hsetnx(meta, LIFE, fresh);
      return redis.hget(meta, LIFE);
    });
    return life ?? undefined;
  }

  /**
   * Counts what waits by when it is due.
   *
   * @param times epoch milliseconds, whole and ascending, 1 to `MAX_DUE_TIMES`
   */
  async countDue(partition: Partition, times: readonly number[]): Promise<DueCounts> {
    return this.#counts.countDue(partition, times);
  }
}
