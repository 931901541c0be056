import { encodeFailureRecord } from '../../messages/failure-record.js';
import type { Failure } from '../../messages/failure.js';
import { toStoredId } from '../../messages/stored-id.js';
import { assertDelays, assertDue, assertDues, assertLength } from '../assert-times.js';
import {
  type BrokerOperations,
  type CallId,
  type CancelResult,
  type ClaimRequest,
  type ClaimResult,
  type ClearResult,
  type DueCounts,
  type DueTime,
  type EditResult,
  type EnvelopeEdit,
  type ExtendStatus,
  type Limits,
  MAX_BATCH,
  type MessageLook,
  type NewMessage,
  SUSPECT_ROOM,
  type Partition,
  type PartitionStats,
  type PermitReply,
  type PermitRequest,
  type PeekRequest,
  type PeekedMessages,
  type PublishResult,
  type PublishTerms,
  type Receipt,
  type RescheduleResult,
  type SettleAnswer,
  type Settlement,
  type StoredMessage,
  type TagCancelResult,
  addsMemory,
  AT_ONCE,
} from '../broker.interface.js';
import type { Calls, Given, Reply } from './calls.interface.js';
import type { Argument } from './lua/script-table.js';
import type { PartitionKeys, RedisKeys } from './redis-keys.js';
import { PartitionCounts } from './partition-counts.js';
import { RedisDeadLetters } from './redis-dead-letters.js';
import type { OperationOptions } from './redis-reports.js';
import type { PartitionWatchers } from './partition-watchers.js';
import * as replies from './replies.js';
import { permitReply, waitingForPermits } from './permit-records.js';
import { encodeDueTime, encodeRetention, encodeMessages, encodeSettlements, encodeTerms } from './script-arguments.js';
import type { ScriptName } from './scripts.js';

const NO_TERMS: PublishTerms = {};

export interface RedisOperationsOptions extends OperationOptions {
  readonly watchers: PartitionWatchers;
}

/** The operations on Redis. Each gives a script its arguments by name and reads its reply; what a script does is in `lua/`. */
export class RedisOperations extends RedisDeadLetters implements Omit<BrokerOperations, 'connect'> {
  readonly #calls: Calls;
  readonly #keys: RedisKeys;
  readonly #watchers: PartitionWatchers;
  readonly #counts: PartitionCounts;

  constructor(options: RedisOperationsOptions) {
    super(options);
    this.#calls = options.calls;
    this.#keys = options.keys;
    this.#watchers = options.watchers;
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
      answered: this.#answered(partition, call),
      sequence: call.sequence,
      order_mode: order ?? '',
      due_specs,
      on_duplicates,
      max_waits,
      tag_lists,
      rest,
    };
    if (!replicas) return replies.publishResults(await this.#run('publish', partition, given), messages);
    const place = this.#keys.partition(partition);
    const { reply, confirmedBy } = await this.#calls.runReplicated('publish', place, given, replicas);
    return replies.publishResults(reply, messages).map((result) => ({ ...result, confirmedBy }));
  }

  async cancel(partition: Partition, call: CallId, id: string): Promise<CancelResult> {
    return replies.cancelResult(
      await this.#run('cancel', partition, { answered: this.#answered(partition, call), sequence: call.sequence, id }),
    );
  }

  async cancelTagged(
    partition: Partition,
    call: CallId,
    tag: string,
    after: string | undefined,
  ): Promise<TagCancelResult> {
    const given = {
      answered: this.#answered(partition, call),
      sequence: call.sequence,
      tag,
      after_id: after ?? '',
    };
    return replies.tagCancelResult(await this.#run('cancel-tagged', partition, given));
  }

  async reschedule(partition: Partition, call: CallId, id: string, due: DueTime): Promise<RescheduleResult> {
    assertDue(due);
    const given = {
      answered: this.#answered(partition, call),
      sequence: call.sequence,
      id,
      due_spec: encodeDueTime(due),
      when: 'always',
    };
    return replies.rescheduleResult(await this.#run('reschedule', partition, given));
  }

  async runNow(partition: Partition, call: CallId, id: string): Promise<RescheduleResult> {
    const given = {
      answered: this.#answered(partition, call),
      sequence: call.sequence,
      id,
      due_spec: '+0',
      when: 'earlier',
    };
    return replies.rescheduleResult(await this.#run('reschedule', partition, given));
  }

  async edit(
    partition: Partition,
    call: CallId,
    { storedId: id, expected, envelope }: EnvelopeEdit,
  ): Promise<EditResult> {
    const given = { answered: this.#answered(partition, call), sequence: call.sequence, id, expected, envelope };
    return replies.editResult(await this.#run('edit', partition, given));
  }

  async clear(partition: Partition, call: CallId, state: 'scheduled' | 'dead'): Promise<ClearResult> {
    const set = this.#keys.partition(partition)[state];
    const counter = state === 'scheduled' ? 'cancelled' : '';
    const given = { answered: this.#answered(partition, call), sequence: call.sequence, set, counter };
    const [removed, more] = await this.#run('clear', partition, given);
    return { removed: removed as number, more: more === 1 };
  }

  async claim(partition: Partition, request: ClaimRequest): Promise<ClaimResult> {
    const { owner, sequence, delivered, max, lease, room = SUSPECT_ROOM, finished } = request;
    assertLength('The lease', lease);
    const given = {
      claimant: owner,
      sequence,
      delivered,
      max,
      lease,
      room,
      whole_room: SUSPECT_ROOM,
      finished_limits: encodeRetention(finished),
      terms: encodeTerms(request),
    };
    const reply = await this.#run('claim', partition, given);
    const { begin, ...result } = replies.claimResult(reply, owner);
    if (result.status === 'not-owner' || !begin) return result;
    const from = this.#calls.toLocal(this.#keys.partition(partition).scheduled, begin.at);
    return { ...result, begins: { from, until: from + (request.begin ?? AT_ONCE).slack, lead: begin.lead } };
  }

  async settle(
    partition: Partition,
    call: CallId,
    settlements: readonly Settlement[],
    by?: string,
  ): Promise<SettleAnswer[]> {
    assertDelays(settlements);
    const { outcomes, tokens, process, durations, rest } = encodeSettlements(settlements, by);
    const { channel } = this.#keys.partition(partition);
    const given = {
      answered: this.#answered(partition, call),
      sequence: call.sequence,
      process,
      durations,
      outcomes,
      tokens,
      tells: this.#watchers.has(channel) ? 1 : 0,
      rest,
    };
    const { statuses, dueAt } = replies.settled(
      await this.#run('settle', partition, given, settlements.some(addsMemory)),
    );
    if (dueAt !== undefined) this.#watchers.tell(channel, { kind: 'due', at: dueAt });
    return statuses;
  }

  async extend(partition: Partition, lease: number, receipts: readonly Receipt[]): Promise<ExtendStatus[]> {
    assertLength('The lease', lease);
    const rest: Argument[] = [];
    for (const { storedId, token } of receipts) rest.push(storedId, token);
    return replies.extendStatuses(await this.#run('extend', partition, { lease, rest }));
  }

  async setAside(partition: Partition, { storedId, token }: Receipt, failure: Failure): Promise<string | undefined> {
    const given = { id: storedId, token, failure: encodeFailureRecord(failure, undefined) };
    const [isAside, id] = await this.#run('set-aside', partition, given);
    return isAside === 1 ? (id as string) : undefined;
  }

  async pause(partition: Partition): Promise<void> {
    await this.#run('pause', partition, {});
  }

  async resume(partition: Partition): Promise<void> {
    await this.#run('resume', partition, {});
  }

  async hold(partition: Partition, call: CallId, delay: number): Promise<number> {
    assertLength('The delay', delay);
    const given = { answered: this.#answered(partition, call), sequence: call.sequence, delay };
    const [until] = await this.#run('hold', partition, given);
    return until as number;
  }

  async permit(topic: string, request: PermitRequest): Promise<PermitReply> {
    const { limits, returned, begin = AT_ONCE, ...given } = request;
    assertLength('The lease', request.lease);
    const { rate, inFlight } = limits;
    const reply = await this.#calls.run('permit', this.#keys.topic(topic), {
      ...given,
      max_rate: rate?.max ?? 0,
      window: rate?.per ?? 0,
      most_in_flight: inFlight ?? 0,
      returned: returned.map(({ permittedAt, count }) => `${permittedAt} ${count}`).join(' '),
      ...begin,
    });
    const { permits } = this.#keys.topic(topic);
    return permitReply(reply, begin.slack, (time) => this.#calls.toLocal(permits, time));
  }

  async waitingForPermits(topic: string): Promise<ReadonlyMap<string, keyof Limits>> {
    const { permits } = this.#keys.topic(topic);
    return waitingForPermits(
      ...(await this.#calls.call([permits], (redis) => Promise.all([redis.get(permits), redis.time()]))),
    );
  }

  async get(partition: Partition, id: string): Promise<StoredMessage | undefined> {
    return replies.storedMessage(id, await this.#run('get', partition, { id }));
  }

  async explain(partition: Partition, id: string): Promise<MessageLook | undefined> {
    return replies.messageLook(await this.#run('explain', partition, { id }));
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
      return replies.taggedMessages(state, await this.#run('list-tagged', partition, given));
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
      return replies.peekedMessages(stored, await this.#run('list', partition, { ...given, fields: 'edf' }));
    }
    // All that is known of a finished message is in one place.
    const reply = await this.#calls.run('list', { ...keys, messages: endings }, { ...given, fields: 'e' });
    return replies.peekedEndings(reply);
  }

  async stats(partition: Partition): Promise<PartitionStats> {
    return this.#counts.stats(partition);
  }

  async countDue(partition: Partition, times: readonly number[]): Promise<DueCounts> {
    return this.#counts.countDue(partition, times);
  }

  /** Where a caller's latest call is remembered, so that its repeat is recognized. */
  #answered(partition: Partition, { caller }: CallId): string {
    return this.#keys.answered(partition, caller);
  }

  /** @param adds see {@link Calls.run} */
  #run<N extends ScriptName>(
    name: N,
    partition: Partition,
    given: Given<N, PartitionKeys>,
    adds?: boolean,
  ): Promise<Reply> {
    return this.#calls.run(name, this.#keys.partition(partition), given, adds);
  }
}
