import { encodeFailureRecord } from '../../messages/failure-record.js';
import type { Failure } from '../../messages/failure.js';
import { assertDelays, assertLength } from '../calls/assert-times.js';
import { PartitionScripts } from '../calls/partition-scripts.js';
import { encodeRetention } from '../dead-letters/retention.js';
import type { Driver } from '../driver.interface.js';
import type { Owner } from '../fleet/owner.js';
import type { StoreKeys } from '../keys.js';
import type { Argument } from '../lua/lua-script.js';
import type { PartitionWatchers } from '../partition-watchers.js';
import type { CallId, Partition } from '../partition.js';
import type { StoreOptions } from '../store-options.interface.js';
import { type ClaimRequest, type ClaimResult, SUSPECT_ROOM, claimResult, encodeTerms } from './claim.js';
import type { Limits } from './limits.js';
import { AT_ONCE, type PermitReply, type PermitRequest, permitReply, waitingForPermits } from './permits.js';
import type { Receipt } from './receipt.js';
import {
  type ExtendStatus,
  type SettleAnswer,
  type Settlement,
  addsMemory,
  encodeSettlements,
  encodeTokens,
  extendStatuses,
  settled,
} from './settle.js';

/** Operations on deliveries, and on what holds them back. */
export class DeliveryStore {
  readonly #driver: Driver;
  readonly #keys: StoreKeys;
  readonly #scripts: PartitionScripts;
  readonly #watchers: PartitionWatchers;

  constructor(options: StoreOptions) {
    this.#driver = options.driver;
    this.#keys = options.keys;
    this.#scripts = new PartitionScripts(options);
    this.#watchers = options.watchers;
  }

  // The arguments of frequent calls are written out, since spreading an object takes as long as all else here.
  async claim(partition: Partition, request: ClaimRequest): Promise<ClaimResult> {
    const {
      owner,
      sequence,
      delivered,
      max,
      lease,
      room = SUSPECT_ROOM,
      finished,
      succeeded = [],
      sharesFrom,
    } = request;
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
      shares_from: sharesFrom ?? '',
      tokens: encodeTokens(succeeded),
      rest: succeeded.map(({ storedId }) => storedId),
    };
    const reply = await this.#scripts.run('claim', partition, given);
    return claimResult(reply, request, (time) => this.#driver.toLocal(this.#keys.partition(partition).scheduled, time));
  }

  /**
   * Settles 1 to `MAX_BATCH` deliveries, and answers in their order. `settleAll` sends again what is left for later.
   *
   * @param process that has handled the messages, for those that are kept as finished
   * @param owner the caller, if it owns the partition: then its watchers here learn directly what is due by then, and no signal is sent
   */
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
    const { statuses, dueAt } = settled(
      await this.#scripts.run('settle', partition, given, settlements.some(addsMemory)),
    );
    if (dueAt !== undefined) this.#watchers.tell(channel, { kind: 'due', at: dueAt });
    return statuses;
  }

  /** Renews leases, of at most `MAX_BATCH` deliveries, and answers in the order of the receipts. `lease` in milliseconds from now. */
  async extend(partition: Partition, lease: number, receipts: readonly Receipt[]): Promise<ExtendStatus[]> {
    assertLength('The lease', lease);
    const rest: Argument[] = [];
    for (const { storedId, token } of receipts) rest.push(storedId, token);
    const given = { ...this.#scripts.nextCall(partition), lease, rest };
    return extendStatuses(await this.#scripts.run('extend', partition, given));
  }

  /**
   * Makes a dead letter of a message that cannot be claimed or settled, whatever is stored of it; its envelope stays as it is,
   * and no attempt is spent.
   *
   * @param receipt of its current delivery; with {@link NO_TOKEN}, of a message that is due or whose lease has ended
   * @returns the stored id of the dead letter, which is a new one if the message's was not text; `undefined` if it was not
   * set aside, since it is gone or no longer matches the receipt
   */
  async setAside(partition: Partition, { storedId, token }: Receipt, failure: Failure): Promise<string | undefined> {
    const failureText = encodeFailureRecord(failure, undefined);
    const given = { ...this.#scripts.nextCall(partition), id: storedId, token, failure: failureText };
    const [isAside, id] = await this.#scripts.run('set-aside', partition, given);
    return isAside === 1 ? (id as string) : undefined;
  }

  /** Stops deliveries from the next claim on; those in flight go on. Lasts until {@link resume}. */
  async pause(partition: Partition, call: CallId): Promise<void> {
    await this.#scripts.run('pause', partition, this.#scripts.named(partition, call));
  }

  /** Ends a pause and a hold, and signals the owner. */
  async resume(partition: Partition, call: CallId): Promise<void> {
    await this.#scripts.run('resume', partition, this.#scripts.named(partition, call));
  }

  /**
   * Hands nothing out for `delay` milliseconds, even if an earlier hold ends before; deliveries in flight go on.
   *
   * @returns the end of the hold, epoch milliseconds
   */
  async hold(partition: Partition, call: CallId, delay: number): Promise<number> {
    assertLength('The delay', delay);
    const [until] = await this.#scripts.run('hold', partition, { ...this.#scripts.named(partition, call), delay });
    return until as number;
  }

  /** Permits a process deliveries of a topic, within the limits that all processes share; what it says that it holds counts. */
  async permit(topic: string, request: PermitRequest): Promise<PermitReply> {
    const { limits, returned, begin = AT_ONCE, ...given } = request;
    assertLength('The lease', request.lease);
    const { rate, inFlight } = limits;
    const reply = await this.#driver.run('permit', this.#keys.topic(topic), {
      ...given,
      max_rate: rate?.max ?? 0,
      window: rate?.per ?? 0,
      most_in_flight: inFlight ?? 0,
      returned: returned.map(({ permittedAt, count }) => `${permittedAt} ${count}`).join(' '),
      ...begin,
    });
    const { permits } = this.#keys.topic(topic);
    return permitReply(reply, begin.slack, (time) => this.#driver.toLocal(permits, time));
  }

  /** Returns the sessions that wait for permits of a topic, each with the limit that it waits for. */
  async waitingForPermits(topic: string): Promise<ReadonlyMap<string, keyof Limits>> {
    const { permits } = this.#keys.topic(topic);
    const text = await this.#driver.call([permits], (redis) => redis.get(permits));
    return waitingForPermits(text, this.#driver.now(permits));
  }
}
