import { toStoredId } from '../../messages/stored-id.js';
import { assertDue, assertDues } from '../assert-times.js';
import {
  type MessageOperations,
  type CallId,
  type CancelResult,
  type ClearResult,
  type DueCounts,
  type DueTime,
  type EnvelopeEditResult,
  type EnvelopeEdit,
  MAX_BATCH,
  type MessageLook,
  type NewMessage,
  type Partition,
  type PartitionStats,
  type PeekRequest,
  type PeekedMessages,
  type PublishResult,
  type PublishTerms,
  type RescheduleResult,
  type SeenMessage,
  type StoredMessage,
  type TagCancelResult,
} from '../broker.interface.js';
import type { Calls } from '../driver.interface.js';
import type { RedisKeys } from '../keys.js';
import { PartitionCounts } from './partition-counts.js';
import type { OperationOptions } from './operation-options.interface.js';
import { PartitionScripts } from './partition-scripts.js';
import * as replies from '../records/replies.js';
import { encodeDueTime, encodeMessages } from '../records/script-arguments.js';

/** A field beside the counters of a partition. */
const LIFE = 'life';

const NO_TERMS: PublishTerms = {};

/** The operations on messages that wait, or that somebody looks at. */
export class RedisMessages implements MessageOperations {
  readonly #calls: Calls;
  readonly #keys: RedisKeys;
  readonly #scripts: PartitionScripts;
  readonly #counts: PartitionCounts;

  constructor(options: OperationOptions) {
    this.#calls = options.calls;
    this.#keys = options.keys;
    this.#scripts = new PartitionScripts(options);
    this.#counts = new PartitionCounts(options);
  }

  // The arguments of frequent calls are written out, since spreading an object takes as long as all else here.
  async publish(
    partition: Partition,
    call: CallId,
    messages: readonly NewMessage[],
    { replicas, order }: PublishTerms = NO_TERMS,
  ): Promise<PublishResult[]> {
    assertDues(messages);
    const { due_specs, on_duplicates, max_waits, tag_lists, rest } = encodeMessages(messages);
    const given = {
      ...this.#scripts.named(partition, call),
      order_mode: order ?? '',
      due_specs,
      on_duplicates,
      max_waits,
      tag_lists,
      rest,
    };
    if (!replicas) return replies.publishResults(await this.#scripts.run('publish', partition, given), messages);
    const place = this.#keys.partition(partition);
    const { reply, confirmedBy } = await this.#calls.runReplicated('publish', place, given, replicas);
    return replies.publishResults(reply, messages).map((result) => ({ ...result, confirmedBy }));
  }

  async cancel(partition: Partition, call: CallId, id: string, seen?: SeenMessage): Promise<CancelResult> {
    return replies.cancelResult(
      await this.#scripts.run('cancel', partition, {
        ...this.#scripts.named(partition, call),
        id,
        seen_at: seen?.at ?? '',
        seen_envelope: seen?.envelope ?? '',
      }),
    );
  }

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
    return replies.tagCancelResult(await this.#scripts.run('cancel-tagged', partition, given));
  }

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
      id,
      due_spec: encodeDueTime(due),
      when: 'always',
      seen_at: seen?.at ?? '',
      seen_envelope: seen?.envelope ?? '',
    };
    return replies.rescheduleResult(await this.#scripts.run('reschedule', partition, given));
  }

  async runNow(partition: Partition, call: CallId, id: string): Promise<RescheduleResult> {
    const given = {
      ...this.#scripts.named(partition, call),
      id,
      due_spec: '+0',
      when: 'earlier',
      seen_at: '',
      seen_envelope: '',
    };
    return replies.rescheduleResult(await this.#scripts.run('reschedule', partition, given));
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
    return replies.editResult(await this.#scripts.run('edit', partition, given));
  }

  async clear(partition: Partition, call: CallId, state: 'scheduled' | 'dead'): Promise<ClearResult> {
    const set = this.#keys.partition(partition)[state];
    const counter = state === 'scheduled' ? 'cancelled' : '';
    const given = { ...this.#scripts.named(partition, call), set, counter };
    const [removed, more] = await this.#scripts.run('clear', partition, given);
    return { removed: removed as number, more: more === 1 };
  }

  async get(partition: Partition, id: string): Promise<StoredMessage | undefined> {
    return replies.storedMessage(id, await this.#scripts.run('get', partition, { id }));
  }

  async explain(partition: Partition, id: string): Promise<MessageLook | undefined> {
    return replies.messageLook(await this.#scripts.run('explain', partition, { id }));
  }

  async locate(partition: Partition, id: string): Promise<string[]> {
    const { keyed } = this.#keys.partition(partition);
    const name = toStoredId(id);
    return this.#calls.call([keyed], (redis) =>
      redis.zrangebylex(keyed, `[${name}\0`, `(${name}\x01`, 'LIMIT', 0, MAX_BATCH),
    );
  }

  async peek(partition: Partition, request: PeekRequest): Promise<PeekedMessages> {
    const { state, blocked, after, limit, maxBytes, tag } = request;
    if (tag !== undefined) {
      const given = { tag, state, limit, max_bytes: maxBytes, after_id: after?.storedId ?? '' };
      return replies.taggedMessages(state, await this.#scripts.run('list-tagged', partition, given));
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
      return replies.peekedMessages(stored, await this.#scripts.run('list', partition, { ...given, fields: 'edf' }));
    }
    // All that is known of a finished message is in one place.
    const reply = await this.#calls.run('list', { ...keys, messages: endings }, { ...given, fields: 'e' });
    return replies.peekedEndings(reply);
  }

  async stats(partition: Partition): Promise<PartitionStats> {
    return this.#counts.stats(partition);
  }

  async lifeOf(partition: Partition, fresh?: string): Promise<string | undefined> {
    const { meta } = this.#keys.partition(partition);
    const life = await this.#calls.call([meta], async (redis) => {
      if (fresh !== undefined) await redis.hsetnx(meta, LIFE, fresh);
      return redis.hget(meta, LIFE);
    });
    return life ?? undefined;
  }

  async countDue(partition: Partition, times: readonly number[]): Promise<DueCounts> {
    return this.#counts.countDue(partition, times);
  }
}
