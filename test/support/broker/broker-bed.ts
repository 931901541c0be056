import type { PartitionStats } from '../../../lib/store/messages/partition-counts.js';
import { randomUUID } from 'node:crypto';
import { test } from 'vitest';
import type { SettleStatus } from '../../../lib/messages/settle-status.js';
import type { Broker } from '../../../lib/store/broker.interface.js';
import type { RetentionLimits } from '../../../lib/store/dead-letters/retention.js';
import type { ClaimRequest, ClaimedMessage } from '../../../lib/store/deliveries/claim.js';
import type { Limits } from '../../../lib/store/deliveries/limits.js';
import { NO_TOKEN, type Receipt } from '../../../lib/store/deliveries/receipt.js';
import type { Outcome, Settlement } from '../../../lib/store/deliveries/settle.js';
import type { Owner } from '../../../lib/store/fleet/owner.js';
import type { PartitionSignal } from '../../../lib/store/fleet/signals.js';
import type { TopicOrder } from '../../../lib/store/fleet/topic-config.js';
import type { CancelResult, RescheduleResult, TagCancelResult } from '../../../lib/store/messages/change-message.js';
import type { DueTime, NewMessage, PublishResult } from '../../../lib/store/messages/publish.js';
import type { StoredMessage } from '../../../lib/store/messages/stored-message.js';
import type { CallId, Partition } from '../../../lib/store/partition.js';
import { settleAll } from '../../../lib/store/calls/settle-all.js';
import type { Failure } from '../../../lib/messages/failure.js';
import { type ClaimFields, type ServedClaim, Claimant } from './claimant.js';
import { Received } from './received.js';

/** Long enough not to end while a test runs. */
export const LONG = 60_000;

/** A due time that has passed. */
export const LONG_AGO = 1_000_000;

export const FAILURE: Failure = { reason: 'failed', name: 'Error', message: 'boom' };

export const ACK: Outcome = { kind: 'ack' };
export const DEAD: Outcome = { kind: 'dead', failure: FAILURE };
export const DEAD_UNCALLED: Outcome = { kind: 'dead', failure: { ...FAILURE, reason: 'expired' }, spent: false };
export const RELEASE: Outcome = { kind: 'release' };
export const RETRY: Outcome = { kind: 'retry', delay: 0, failure: FAILURE };
export const RETRY_LATER: Outcome = { kind: 'retry', delay: LONG, failure: FAILURE };
export const PUT_OFF: Outcome = { kind: 'put-off', delay: LONG };
export const OUTCOMES: readonly Outcome[] = [ACK, RETRY_LATER, DEAD, RELEASE, PUT_OFF];

/** Texts in place of a token that are of no delivery; the last two are marks in a delivery's record. */
export const NO_TOKENS = [NO_TOKEN, '', ' ', 'c', 'r5'];

/** A message due long ago whose envelope is unlike any other. */
export function message(storedId: string, fields: Partial<NewMessage> = {}): NewMessage {
  return { storedId, envelope: `[1,"${randomUUID()}"]`, due: { at: LONG_AGO }, onDuplicate: 'reject', ...fields };
}

/** A broker under test, with a hand on its clock. */
export interface TestedBroker {
  readonly broker: Broker;
  /** The broker's own clock, epoch milliseconds with fractions. */
  time(): Promise<number>;
  /** Resolves once so many milliseconds have passed on the broker's clock. */
  advance(milliseconds: number): Promise<void>;
  close(): Promise<void>;
  /** Fewest first deliveries that share a record. @defaultValue each has its own */
  readonly sharesFrom?: number;
}

export type OpenBroker = () => Promise<TestedBroker>;

/** One partition of the broker under test, and its owner. */
export class BrokerBed {
  readonly broker: Broker;
  readonly partition: Partition = { topic: randomUUID(), index: 0 };
  readonly owner: Owner;
  /** Of the topic; `undefined`: it has none. */
  order: TopicOrder | undefined;
  /** What every key may have; `undefined`: anything. */
  keyLimits: Limits | undefined;
  /** What the owner keeps of finished messages; `undefined`: nothing. */
  finished: RetentionLimits | undefined;
  readonly #tested: TestedBroker;
  readonly #claimant: Claimant;
  #sequence = 0;
  #barriers = 0;

  private constructor(tested: TestedBroker) {
    this.#tested = tested;
    this.broker = tested.broker;
    this.#claimant = new Claimant(this.broker, this.partition, { sharesFrom: tested.sharesFrom });
    this.owner = this.#claimant.owner;
  }

  /** With the partition owned by {@link owner}. */
  static async open(openBroker: OpenBroker): Promise<BrokerBed> {
    const tested = await openBroker();
    const bed = new BrokerBed(tested);
    try {
      await bed.#claimant.acquire();
      return bed;
    } catch (error) {
      await tested.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#tested.close();
  }

  time(): Promise<number> {
    return this.#tested.time();
  }

  advance(milliseconds: number): Promise<void> {
    return this.#tested.advance(milliseconds);
  }

  async publish(storedId: string, fields: Partial<NewMessage> = {}): Promise<PublishResult> {
    const [result] = await this.publishAll([message(storedId, fields)]);
    return result as PublishResult;
  }

  async publishAll(messages: readonly NewMessage[], call = this.nextCall()): Promise<PublishResult[]> {
    return this.broker.messages.publish(this.partition, call, messages, { order: this.order });
  }

  async cancel(storedId: string, call = this.nextCall()): Promise<CancelResult> {
    return this.broker.messages.cancel(this.partition, call, storedId);
  }

  async cancelTagged(tag: string, after?: string, call = this.nextCall()): Promise<TagCancelResult> {
    return this.broker.messages.cancelTagged(this.partition, call, tag, after);
  }

  async reschedule(storedId: string, due: DueTime, call = this.nextCall()): Promise<RescheduleResult> {
    return this.broker.messages.reschedule(this.partition, call, storedId, due);
  }

  /** The owner's next one. */
  nextCall(): CallId {
    return { caller: this.owner, sequence: ++this.#sequence };
  }

  /** The token of the owner's delivery of this number. */
  token(number: number): string {
    return this.#claimant.token(number);
  }

  /** What the owner asks for in its next claim. */
  nextClaim(fields: ClaimFields = {}): ClaimRequest {
    return this.#claimant.next({ finished: this.finished, ...fields });
  }

  /** Claims as the owner, who knows all deliveries it was told of. */
  async claim(fields: ClaimFields = {}): Promise<ServedClaim> {
    return this.#claimant.claim({ order: this.order, keyLimits: this.keyLimits, finished: this.finished, ...fields });
  }

  /** Sends the owner's latest claim again, as if its reply had been lost. */
  async repeatClaim(fields: ClaimFields = {}): Promise<ServedClaim> {
    return this.#claimant.repeat(fields);
  }

  /** Claims one message, which has to be there. */
  async claimOne(fields: ClaimFields = {}): Promise<ClaimedMessage> {
    const { messages } = await this.claim({ max: 1, ...fields });
    const [claimed] = messages;
    if (!claimed) throw new Error('nothing to claim');
    return claimed;
  }

  /** Publishes a message that is due, and claims it. */
  async deliver(storedId: string, fields: ClaimFields = {}): Promise<ClaimedMessage> {
    await this.publish(storedId);
    const claimed = await this.claimOne(fields);
    if (claimed.storedId !== storedId) throw new Error(`claimed ${claimed.storedId} instead of ${storedId}`);
    return claimed;
  }

  /** Publishes, claims and settles. */
  async settled(storedId: string, outcome: Outcome): Promise<ClaimedMessage> {
    const claimed = await this.deliver(storedId);
    await this.settle(claimed, outcome);
    return claimed;
  }

  async settle(receipt: Receipt, outcome: Outcome): Promise<SettleStatus> {
    const [status] = await this.settleAll([[receipt, outcome]]);
    return status as SettleStatus;
  }

  async settleAll(outcomes: readonly (readonly [Receipt, Outcome])[], call = this.nextCall()): Promise<SettleStatus[]> {
    const settlements = outcomes.map(([{ storedId, token }, outcome]) => ({ storedId, token, outcome }));
    const callFor = (all: readonly Settlement[]): CallId => (all === settlements ? call : this.nextCall());
    return settleAll(settlements, (all) => this.broker.deliveries.settle(this.partition, callFor(all), all));
  }

  async stats(): Promise<PartitionStats> {
    return this.broker.messages.stats(this.partition);
  }

  async get(storedId: string): Promise<StoredMessage | undefined> {
    return this.broker.messages.get(this.partition, storedId);
  }

  /**
   * Resolves once no signal that was sent before can arrive any more: in a cluster of Redis 6.2 they go from node to node,
   * and may come after a later subscription. Resuming what is not paused signals, and no more.
   */
  async earlierSignalsArrived(): Promise<void> {
    const signals = new Received<PartitionSignal>();
    const unsubscribe = this.broker.watchPartition(this.partition, signals.listener);
    await this.broker.link.listen();
    const start = Math.floor(await this.time());
    await this.broker.deliveries.resume(this.partition, this.nextCall());
    const isResumption = (signal: PartitionSignal): boolean =>
      signal.kind === 'due' && signal.at >= start && signal.at < start + LONG / 2;
    for (let count = 1; !(await signals.atLeast(count)).some(isResumption); count++);
    await unsubscribe();
  }

  /** Resolves once every signal that was sent so far has arrived: they keep their order, and this sends one more. */
  async signalsArrived(): Promise<void> {
    const barrier = { ...this.partition, index: ++this.#barriers + 100 };
    const arrived = new Received<PartitionSignal>();
    const unsubscribe = this.broker.watchPartition(barrier, arrived.listener);
    await this.broker.link.listen();
    await this.broker.messages.publish(barrier, this.nextCall(), [message('barrier')]);
    await arrived.atLeast(1);
    await unsubscribe();
  }
}

/** Vitest's `it`, with a bed of its own for every test. */
export function brokerTest(openBroker: OpenBroker) {
  return test.extend<{ bed: BrokerBed }>({
    bed: async ({ task: _task }, use) => {
      const bed = await BrokerBed.open(openBroker);
      try {
        await use(bed);
      } finally {
        await bed.close();
      }
    },
  });
}

export type BrokerTest = ReturnType<typeof brokerTest>;
