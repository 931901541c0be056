import { timeOrNone } from '../calls/replies.js';
import type { RetentionLimits } from '../dead-letters/retention.js';
import type { SettleStatus } from '../../messages/settle-status.js';
import type { Reply } from '../driver.interface.js';
import { type Owner, epochOf } from '../fleet/owner.js';
import type { TopicOrder } from '../fleet/topic-config.js';
import type { Limits } from './limits.js';
import { AT_ONCE, type BeginWindow, type Begins } from './permits.js';
import { type Receipt, sharedToken, tokenOf } from './receipt.js';
import { settleAnswers } from './settle.js';

export interface ClaimRequest {
  /** Claimant, which has to be stored exactly like this as the owner of the partition. */
  readonly owner: Owner;
  /**
   * Number of the claim of this owner, from 1. A call with the same number is a repeat, and gets the deliveries that the first
   * call has made, however many it asks for. A call with a number below the latest one changes nothing.
   */
  readonly sequence: number;
  /** Number of deliveries that the owner has made so far; the next ones are numbered from there. */
  readonly delivered: number;
  /** Most messages wanted, 0 to {@link MAX_BATCH}. With 0 the claim only says what is next. */
  readonly max: number;
  /**
   * Lease of the deliveries, in milliseconds. 0: at most once; what is handed out is gone, and there is nothing to settle.
   */
  readonly lease: number;
  /**
   * Room for suspects: messages whose deliveries have ended with their lease more than once. One that can run in a group takes
   * 1, and one that has to run alone takes all of it. @defaultValue {@link SUSPECT_ROOM}: as if no suspect ran
   */
  readonly room?: number;
  /** Limits on the finished messages that the partition keeps from now on. @defaultValue nothing is kept */
  readonly finished?: RetentionLimits | undefined;
  /** Order of the topic. */
  readonly order?: TopicOrder | undefined;
  /** Limits of every key. */
  readonly keyLimits?: Limits | undefined;
  /** Time window in which deliveries would begin that the rate of their key permits. @defaultValue {@link AT_ONCE} */
  readonly begin?: BeginWindow;
  /** Whether to count what is left that is due. */
  readonly counts?: boolean;
  /**
   * Deliveries that have succeeded: they end before anything is claimed, at most {@link MAX_BATCH} of them, unless the claimant is not the owner.
   * Finished messages must not be kept.
   *
   * @defaultValue none
   */
  readonly succeeded?: readonly Receipt[] | undefined;
  /**
   * Fewest first deliveries that share a record; processes that speak protocol 2 cannot read such a record.
   *
   * @defaultValue each has a record of its own
   */
  readonly sharesFrom?: number | undefined;
}

/** Fewest first deliveries for which a shared record costs less than records of their own. */
export const SHARES_FROM = 4;

/** Most suspects that run at once in a process. */
export const SUSPECT_ROOM = 16;

export interface ClaimedMessage extends Receipt {
  readonly envelope: string;
  /** Deliveries so far, this one included. */
  readonly delivery: number;
  /** Attempts spent so far, this one included. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly dueAt: number;
  /** Room for suspects that it takes; 0 for nearly all messages. */
  readonly weight: number;
}

export type ClaimResult =
  | {
      /** `held`: nothing of the topic begins before {@link nextAt}. */
      readonly status: 'claimed' | 'paused' | 'held';
      readonly messages: ClaimedMessage[];
      /** Number of deliveries that the owner has made now. */
      readonly delivered: number;
      /** Time at which there is something to claim again: next due time or end of a lease, or more of a key can begin; `undefined` if nothing waits. */
      readonly nextAt: number | undefined;
      /** Number of entries that had no envelope, and were removed. */
      readonly repaired: number;
      /** Whether suspects wait for room. */
      readonly heldBack: boolean;
      /** Whether finished messages are kept, or some are left that are to be removed. */
      readonly keepsFinished: boolean;
      /** Time under which the deliveries stand in the logs of their keys, to {@link Outcome give them back}; `undefined`: in none. */
      readonly grantedAt?: number | undefined;
      /** Time at which they can begin, if the rates of their keys have granted them. */
      readonly begins?: Begins | undefined;
      /** Number of messages that are still due and can be claimed; if that was asked for. */
      readonly due?: number | undefined;
      /** How the deliveries that have succeeded have ended, in their order; if there were any. */
      readonly ended?: readonly SettleStatus[] | undefined;
    }
  /** Owner that is stored instead; `undefined` if none is. */
  | { readonly status: 'not-owner'; readonly owner: Owner | undefined };

/** Encodes order and limits of a topic for `lua/claim.lua`; empty if it has none, and nothing is to be counted. */
export function encodeTerms({ order, keyLimits, counts = false, begin = AT_ONCE }: ClaimRequest): string {
  if (!order && !keyLimits && !counts) return '';
  const { inFlight = 0, rate } = keyLimits ?? {};
  const { lead, slack, ahead } = begin;
  return `${order ?? '-'} ${inFlight} ${rate?.max ?? 0} ${rate?.per ?? 0} ${counts ? 1 : 0} ${lead} ${slack} ${ahead}`;
}

const CLAIM_STATUS = ['claimed', 'claimed', 'paused', 'held'] as const;

/** Fields of a claim's reply between the time and the messages. */
export const CLAIM_HEAD = 10;

/**
 * @param owner that has claimed; its epoch is part of all tokens
 * @param toLocal turns a time of the server into one of the local clock
 */
export function claimResult(
  reply: Reply,
  { owner, begin = AT_ONCE }: Pick<ClaimRequest, 'owner' | 'begin'>,
  toLocal: (time: number) => number,
): ClaimResult {
  if (reply[0] === 0) return { status: 'not-owner', owner: (reply[1] as Owner) || undefined };
  const [status, delivered, nextAt, repaired, records, suspects, granted, keepsFinished, digits, shared] =
    reply as ClaimHead;
  const [held, weights] = suspects === '' ? NO_SUSPECTS : readSuspects(suspects);
  const result = {
    status: CLAIM_STATUS[status as 1 | 2 | 3],
    messages: records === '' ? [] : readMessages(reply, records, shared, epochOf(owner), weights),
    delivered,
    nextAt: timeOrNone(nextAt),
    repaired,
    heldBack: held,
    keepsFinished: keepsFinished === 1,
    ended: digits === '' ? undefined : (settleAnswers(digits) as SettleStatus[]),
  };
  if (granted === '') return result;
  const [grantedAt = 0, due, at = 0, lead = 0] = granted.split(',').map(Number);
  const from = toLocal(at);
  const begins = at === 0 ? undefined : { from, until: from + begin.slack, lead };
  return { ...result, grantedAt: grantedAt || undefined, due: timeOrNone(due), begins };
}

type ClaimHead = readonly [number, number, number, number, string, string, string, number, string, string];

/**
 * @param shared two numbers of each record that deliveries share: the place of its first message, and how many it has
 * @param weights room that suspects take, by their place
 */
function readMessages(
  reply: Reply,
  records: string,
  shared: string,
  epoch: string,
  weights: ReadonlyMap<number, number> | undefined,
): ClaimedMessage[] {
  const messages: ClaimedMessage[] = [];
  const numbers = readRecords(records);
  const before = (reply[1] as number) - numbers.length;
  const shares = shared === '' ? [] : shared.split(',').map(Number);
  let [record, first, end] = ['', 0, 0];
  for (let i = 0; i < numbers.length; i++) {
    const given = numbers[i] as number | DeliveryNumbers;
    const isFirst = typeof given === 'number';
    const name = isFirst ? before + i + 1 : given.name;
    const at = CLAIM_HEAD + 2 * i;
    if (i === shares[0]) {
      [first, end] = [i, i + (shares[1] as number)];
      record = tokenOf(epoch, name);
      shares.splice(0, 2);
    }
    messages.push({
      storedId: reply[at] as string,
      envelope: reply[at + 1] as string,
      token: i < end ? sharedToken(record, i - first + 1) : tokenOf(epoch, name),
      delivery: isFirst ? 1 : given.delivery,
      attempt: isFirst ? 1 : given.attempt,
      dueAt: isFirst ? given : given.dueAt,
      weight: weights?.get(i) ?? 0,
    });
  }
  return messages;
}

interface DeliveryNumbers {
  /** How its token goes on behind the epoch. */
  readonly name: string;
  readonly delivery: number;
  readonly attempt: number;
  readonly dueAt: number;
}

/** Returns the due time of each message that is delivered for the first time, and more of each other one. */
function readRecords(records: string): readonly (number | DeliveryNumbers)[] {
  if (!records.includes(' ')) return JSON.parse(`[${records}]`) as number[];
  return records.split(',').map((record) => {
    if (!record.includes(' ')) return Number(record);
    const [name, ...numbers] = record.split(' ') as [string, string, string, string];
    const [delivery, attempt, dueAt] = numbers.map(Number) as [number, number, number];
    return { name, delivery, attempt, dueAt };
  });
}

const NO_SUSPECTS: ReturnType<typeof readSuspects> = [false, undefined];

/** Reads whether suspects were held back, and how much room the others take, by their place. */
function readSuspects(text: string): [held: boolean, weights: ReadonlyMap<number, number> | undefined] {
  const [held, ...pairs] = text.split(',').map(Number);
  const weights = new Map<number, number>();
  for (let i = 0; i < pairs.length; i += 2) weights.set(pairs[i] as number, pairs[i + 1] as number);
  return [held === 1, weights];
}
