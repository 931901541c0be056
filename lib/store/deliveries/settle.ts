import type { RateLimitScope } from '../../errors/handling.errors.js';
import type { FailedAttempt, Failure } from '../../messages/failure.js';
import { encodeFailureRecord } from '../../messages/failure-record.js';
import type { SettleStatus } from '../../messages/settle-status.js';
import type { Reply } from '../driver.interface.js';
import type { Argument } from '../lua/lua-script.js';
import { NO_TOKEN, type Receipt } from './receipt.js';

/** Members for a delivery whose handler was not called. */
interface NotCalled {
  /** Time that the claim has answered: with it the delivery does not count against the rate of its key. */
  readonly grantedAt?: number | undefined;
}

interface Failed {
  readonly failure: Failure;
  /** Entry that is added to the message's history; none if the handler was not called. */
  readonly failedAttempt?: FailedAttempt | undefined;
}

export type Outcome =
  | { readonly kind: 'ack' }
  /** The attempt failed; deliver again after `delay` milliseconds. */
  | ({ readonly kind: 'retry'; readonly delay: number } & Failed)
  /** `spent: false` if the handler was not called: then the delivery's attempt is given back. */
  | ({ readonly kind: 'dead'; readonly spent?: false } & Failed & NotCalled)
  /** Back at once, as if it had not been delivered. */
  | ({ readonly kind: 'release' } & NotCalled)
  /** Back after `delay` milliseconds, without spending the attempt. `scope: 'key'`: nothing of its key begins before then. */
  | { readonly kind: 'put-off'; readonly delay: number; readonly scope?: RateLimitScope };

export interface Settlement extends Receipt {
  readonly outcome: Outcome;
  /** Duration of the handler call, in milliseconds; only kept for finished messages. */
  readonly duration?: number;
}

/** `later`: not settled, since those before it are enough for one call; it has to be sent again, by another call. */
export type SettleAnswer = SettleStatus | 'later';

/** Whether storing an outcome takes memory, so that the broker refuses it while it is full. */
export function addsMemory({ outcome: { kind } }: Pick<Settlement, 'outcome'>): boolean {
  return kind !== 'ack' && kind !== 'release';
}

export type ExtendStatus = 'extended' | 'lost' | 'cancelled';

const OUTCOMES: Readonly<Record<Outcome['kind'], string>> = {
  ack: 'a',
  retry: 'r',
  dead: 'd',
  release: 'b',
  'put-off': 'p',
};

/** Dead, and the attempt is given back. */
const DEAD_UNSPENT = 'u';

/** The same, since the message came too late, which is counted. */
const EXPIRED = 'x';

/** Put off, and so are all others of its key. */
const KEY_PUT_OFF = 'k';

/** Token as `lua/claim.lua` makes it. Any other text in a receipt is of no delivery, and could be read as something else. */
const TOKEN = /^[^ ]+\.\d+$/;

/** The same of a delivery that shares a record: the token of the first one, and its place. */
const SHARED_TOKEN = /^([^ ]+\.\d+\+)(\d+)$/;

/**
 * Encodes settlements for `lua/settle.lua`.
 *
 * @param process that has handled the messages; `undefined`: finished messages are not kept
 */
export function encodeSettlements(settlements: readonly Settlement[], process: string | undefined) {
  const rest: Argument[] = settlements.map(({ storedId }) => storedId);
  let letters = '';
  for (const { outcome } of settlements) {
    letters += letterOf(outcome);
    if (outcome.kind !== 'ack') rest.push(timeOf(outcome), failureOf(outcome));
  }
  const areAcks = rest.length === settlements.length;
  return {
    outcomes: areAcks ? OUTCOMES.ack : letters,
    tokens: encodeTokens(settlements),
    process: process ?? '',
    durations: process === undefined ? '' : settlements.map(({ duration = 0 }) => Math.round(duration)).join(','),
    rest,
  };
}

/** Encodes tokens for the scripts, each with a space behind. Those of a shared record that follow each other become one. */
export function encodeTokens(receipts: readonly Receipt[]): string {
  let text = '';
  let [record, first, last] = ['', 0, 0];
  const endShare = (): void => {
    if (first > 0) text += first === last ? `${record}${first} ` : `${record}${first}-${last} `;
    first = 0;
  };
  for (const { token } of receipts) {
    if (first > 0 && token === record + (last + 1)) {
      last++;
      continue;
    }
    endShare();
    const [, shared, place] = SHARED_TOKEN.exec(token) ?? [];
    if (shared === undefined) text += `${TOKEN.test(token) ? token : NO_TOKEN} `;
    else [record, first, last] = [shared, Number(place), Number(place)];
  }
  endShare();
  return text;
}

function failureOf(outcome: Outcome): string {
  return 'failure' in outcome ? encodeFailureRecord(outcome.failure, outcome.failedAttempt) : '';
}

/** Returns the delay, or the time of the grant for a message that was not handed over. */
function timeOf(outcome: Outcome): number {
  if ('delay' in outcome) return outcome.delay;
  return ('grantedAt' in outcome && outcome.grantedAt) || 0;
}

function letterOf(outcome: Outcome): string {
  if (outcome.kind === 'put-off' && outcome.scope === 'key') return KEY_PUT_OFF;
  if (outcome.kind !== 'dead' || outcome.spent !== false) return OUTCOMES[outcome.kind];
  return outcome.failure.reason === 'expired' ? EXPIRED : DEAD_UNSPENT;
}

const SETTLE_STATUS: Readonly<Record<string, SettleAnswer>> = {
  0: 'stale',
  1: 'settled',
  2: 'cancelled',
  3: 'replaced',
  4: 'later',
};

/** @param digits one a delivery */
export function settleAnswers(digits: string): SettleAnswer[] {
  const answers: SettleAnswer[] = [];
  for (const digit of digits) answers.push(SETTLE_STATUS[digit] as SettleAnswer);
  return answers;
}

const EXTEND_STATUS: Readonly<Record<string, ExtendStatus>> = { 0: 'lost', 1: 'extended', 2: 'cancelled' };

/** Reads a reply. `dueAt`: something is due from then on that was not before, and the owner, which made the call, got no signal; epoch milliseconds. */
export function settled([digits, due]: Reply): { statuses: SettleAnswer[]; dueAt: number | undefined } {
  const dueAt = due === undefined || Number(due) < 0 ? undefined : Number(due);
  return { statuses: settleAnswers(String(digits)), dueAt };
}

export function extendStatuses([digits]: Reply): ExtendStatus[] {
  return Array.from(String(digits), (digit) => EXTEND_STATUS[digit] as ExtendStatus);
}
