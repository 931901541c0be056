import { encodeFailureRecord } from '../../messages/failure-record.js';
import type { Failure } from '../../messages/failure.js';
import { assertDelays, assertLength } from '../assert-times.js';
import {
  type DeliveryOperations,
  type CallId,
  type ClaimRequest,
  type ClaimResult,
  type ExtendStatus,
  type Limits,
  type Owner,
  SUSPECT_ROOM,
  type Partition,
  type PermitReply,
  type PermitRequest,
  type Receipt,
  type SettleAnswer,
  type Settlement,
  addsMemory,
  AT_ONCE,
} from '../broker.interface.js';
import type { Calls } from '../driver.interface.js';
import type { Argument } from '../lua/lua-script.js';
import type { RedisKeys } from '../keys.js';
import type { OperationOptions } from './operation-options.interface.js';
import { PartitionScripts } from './partition-scripts.js';
import type { PartitionWatchers } from '../partition-watchers.js';
import * as replies from '../records/replies.js';
import { permitReply, waitingForPermits } from '../records/permit-records.js';
import { encodeRetention, encodeSettlements, encodeTerms } from '../records/script-arguments.js';

/** The operations on deliveries, and on what holds them back. */
export class RedisDeliveries implements DeliveryOperations {
  readonly #calls: Calls;
  readonly #keys: RedisKeys;
  readonly #scripts: PartitionScripts;
  readonly #watchers: PartitionWatchers;

  constructor(options: OperationOptions) {
    this.#calls = options.calls;
    this.#keys = options.keys;
    this.#scripts = new PartitionScripts(options);
    this.#watchers = options.watchers;
  }

  // The arguments of frequent calls are written out, since spreading an object takes as long as all else here.
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
    const reply = await this.#scripts.run('claim', partition, given);
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
    owner: Owner = '',
  ): Promise<SettleAnswer[]> {
    assertDelays(settlements);
    const { outcomes, tokens, process, durations, rest } = encodeSettlements(settlements, by);
    const { channel } = this.#keys.partition(partition);
    const given = {
      ...this.#scripts.named(partition, call),
      process,
      durations,
      outcomes,
      tokens,
      claimant: owner,
      rest,
    };
    const { statuses, dueAt } = replies.settled(
      await this.#scripts.run('settle', partition, given, settlements.some(addsMemory)),
    );
    if (dueAt !== undefined) this.#watchers.tell(channel, { kind: 'due', at: dueAt });
    return statuses;
  }

  async extend(partition: Partition, lease: number, receipts: readonly Receipt[]): Promise<ExtendStatus[]> {
    assertLength('The lease', lease);
    const rest: Argument[] = [];
    for (const { storedId, token } of receipts) rest.push(storedId, token);
    const given = { ...this.#scripts.nextCall(partition), lease, rest };
    return replies.extendStatuses(await this.#scripts.run('extend', partition, given));
  }

  async setAside(partition: Partition, { storedId, token }: Receipt, failure: Failure): Promise<string | undefined> {
    const failureText = encodeFailureRecord(failure, undefined);
    const given = { ...this.#scripts.nextCall(partition), id: storedId, token, failure: failureText };
    const [isAside, id] = await this.#scripts.run('set-aside', partition, given);
    return isAside === 1 ? (id as string) : undefined;
  }

  async pause(partition: Partition, call: CallId): Promise<void> {
    await this.#scripts.run('pause', partition, this.#scripts.named(partition, call));
  }

  async resume(partition: Partition, call: CallId): Promise<void> {
    await this.#scripts.run('resume', partition, this.#scripts.named(partition, call));
  }

  async hold(partition: Partition, call: CallId, delay: number): Promise<number> {
    assertLength('The delay', delay);
    const [until] = await this.#scripts.run('hold', partition, { ...this.#scripts.named(partition, call), delay });
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
    const text = await this.#calls.call([permits], (redis) => redis.get(permits));
    return waitingForPermits(text, this.#calls.now(permits));
  }
}
