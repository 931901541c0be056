import type { FinishedOutcome } from '../../errors/publishing.errors.js';
import { publishedAtOf } from '../../messages/envelope.js';
import { decodeFailureRecord } from '../../messages/failure-record.js';
import {
  type EnvelopeEditResult,
  type PartitionSignal,
  type Position,
  type DeadLetterPage,
  type DueSchedules,
  type ListedDeadLetter,
  type MessageLook,
  type PeekedMessages,
  type CancelResult,
  type ClaimResult,
  type ClaimedMessage,
  type ExtendStatus,
  type NewMessage,
  type OccurrenceResult,
  type Owner,
  type Limits,
  type PublishResult,
  type RescheduleResult,
  type SettleAnswer,
  type StoredMessage,
  type PeekedState,
  type TagCancelResult,
  type StoredSchedule,
  epochOf,
  tokenOf,
} from '../broker.interface.js';
import { decodeEnding } from './endings.js';
import { decodeSchedule } from './schedule-records.js';
import type { Reply } from '../driver.interface.js';

// What the scripts answer and publish, by the position that the head of each Lua file gives.

const PUBLISH_STATUS = ['created', 'created', 'rejected', 'ignored', 'replaced'] as const;
/** Rejected, since the message with this id has ended and is kept. */
const REJECTED_AS: Readonly<Record<string, FinishedOutcome>> = { 5: 'acked', 6: 'cancelled', 7: 'delivered' };
const CREATED = '1';
const OCCURRENCE_RESULT = {
  2: { status: 'changed' },
  3: { status: 'published', duplicate: false },
  4: { status: 'skipped' },
} as const satisfies Readonly<Record<number, OccurrenceResult>>;
const CANCEL_RESULT = ['not-found', 'cancelled', 'in-flight'] as const;
const EDIT_RESULT = ['changed', 'edited'] as const;
const RESCHEDULE_RESULT = ['not-found', 'moved', 'in-flight', 'dead'] as const;
const SETTLE_STATUS: Readonly<Record<string, SettleAnswer>> = {
  0: 'stale',
  1: 'settled',
  2: 'cancelled',
  3: 'replaced',
  4: 'later',
};
const EXTEND_STATUS: Readonly<Record<string, ExtendStatus>> = { 0: 'lost', 1: 'extended', 2: 'cancelled' };

const CLAIM_STATUS = ['claimed', 'claimed', 'paused', 'held'] as const;

/** Fields of a claim's reply between the time and the messages. */
export const CLAIM_HEAD = 8;
/** Numbers that a claim's reply has of each message. */
export const NUMBERS_PER_RECORD = 4;
const FIELDS_PER_PEEKED_MESSAGE = 7;

/** @param messages those that were published; the due times of most follow from them */
export function publishResults([answer]: Reply, messages: readonly NewMessage[]): PublishResult[] {
  const [base, statuses = '', kept = '', isNew] = String(answer).split(' ');
  const keptDues = kept.split(',').values();
  const results = messages.map(({ due, maxWait }, i): PublishResult => {
    const digit = statuses[i] as string;
    const finishedAs = REJECTED_AS[digit];
    if (finishedAs) return { status: 'rejected', dueAt: Number(keptDues.next().value), finishedAs };
    const status = PUBLISH_STATUS[Number(digit) as 1 | 2 | 3 | 4];
    if (status === 'rejected' || status === 'ignored' || maxWait !== undefined) {
      return { status, dueAt: Number(keptDues.next().value) };
    }
    return { status, dueAt: 'at' in due ? due.at : Number(base) + due.after };
  });
  if (isNew) results[0] = { ...(results[0] as PublishResult), isNewPartition: true };
  return results;
}

export function cancelResult([result]: Reply): CancelResult {
  return CANCEL_RESULT[result as 0 | 1 | 2];
}

export function tagCancelResult([answer]: Reply): TagCancelResult {
  const [, cancelled, inFlight, more, last] = /^(\d+) (\d+) (\d) ([^]*)$/.exec(String(answer)) ?? [];
  return { cancelled: Number(cancelled), inFlight: Number(inFlight), next: more === '1' ? last : undefined };
}

export function rescheduleResult([result]: Reply): RescheduleResult {
  return RESCHEDULE_RESULT[result as 0 | 1 | 2 | 3];
}

export function editResult([result]: Reply): EnvelopeEditResult {
  return EDIT_RESULT[result as 0 | 1];
}

export function dueSchedules([now, nextAt, count, repaired, damaged, ...fields]: Reply): DueSchedules {
  const due: StoredSchedule[] = [];
  for (let i = 0; i < fields.length; i += 2) due.push(decodeSchedule(fields[i] as string, fields[i + 1] as string));
  return {
    due,
    nextAt: timeOrNone(nextAt),
    now: now as number,
    count: count as number,
    repaired: repaired as number,
    damaged: String(damaged).split('\0').slice(0, -1),
  };
}

/** An occurrence that was published is answered as the publish of one message. */
export function occurrenceResult([status, more]: Reply): OccurrenceResult {
  if (typeof status === 'string') return { status: 'published', duplicate: status.split(' ')[1] !== CREATED };
  if (status === 0) return { status: 'not-owner', owner: (more as Owner) || undefined };
  return OCCURRENCE_RESULT[status as 2 | 3 | 4];
}

/** When deliveries may begin: on the server's clock, in epoch milliseconds, and how long after the reply that is, in milliseconds. */
interface Begin {
  readonly at: number;
  readonly lead: number;
}

/** @param claimant the owner that has claimed; its epoch is part of all tokens */
export function claimResult(reply: Reply, claimant: Owner): ClaimResult & { readonly begin?: Begin | undefined } {
  if (reply[0] === 0) return { status: 'not-owner', owner: (reply[1] as Owner) || undefined };
  const [status, delivered, nextAt, repaired, records, suspects, granted, keepsFinished] = reply as ClaimHead;
  const epoch = epochOf(claimant);
  const numbers = JSON.parse(`[${records.replaceAll(' ', ',')}]`) as number[];
  const messages: ClaimedMessage[] = [];
  const [held, weights] = readSuspects(suspects);
  for (let i = CLAIM_HEAD, n = 0; i < reply.length; i += 2, n += NUMBERS_PER_RECORD) {
    messages.push({
      storedId: reply[i] as string,
      envelope: reply[i + 1] as string,
      token: tokenOf(epoch, numbers[n] as number),
      delivery: numbers[n + 1] as number,
      attempt: numbers[n + 2] as number,
      dueAt: numbers[n + 3] as number,
      weight: weights?.get(messages.length) ?? 0,
    });
  }
  const result = {
    status: CLAIM_STATUS[status as 1 | 2 | 3],
    messages,
    delivered,
    nextAt: timeOrNone(nextAt),
    repaired,
    heldBack: held,
    keepsFinished: keepsFinished === 1,
  };
  if (granted === '') return result;
  const [grantedAt = 0, due, at = 0, lead = 0] = granted.split(',').map(Number);
  const begin = at === 0 ? undefined : { at, lead };
  return { ...result, grantedAt: grantedAt || undefined, due: timeOrNone(due), begin };
}

type ClaimHead = readonly [number, number, number, number, string, string, string, number];

/** Whether suspects were held back, and how much room the others take, by their place; mostly there are none. */
function readSuspects(text: string): [held: boolean, weights: ReadonlyMap<number, number> | undefined] {
  if (text === '') return [false, undefined];
  const [held, ...pairs] = text.split(',').map(Number);
  const weights = new Map<number, number>();
  for (let i = 0; i < pairs.length; i += 2) weights.set(pairs[i] as number, pairs[i + 1] as number);
  return [held === 1, weights];
}

/** `dueAt`: something is due from then on that was not before, and the owner, which has made the call, has got no signal; epoch milliseconds. */
export function settled([digits, due]: Reply): { statuses: SettleAnswer[]; dueAt: number | undefined } {
  const statuses = Array.from(String(digits), (digit) => SETTLE_STATUS[digit] as SettleAnswer);
  return { statuses, dueAt: due === undefined || Number(due) < 0 ? undefined : Number(due) };
}

export function extendStatuses([digits]: Reply): ExtendStatus[] {
  return Array.from(String(digits), (digit) => EXTEND_STATUS[digit] as ExtendStatus);
}

export function storedMessage(storedId: string, reply: Reply): StoredMessage | undefined {
  if (reply.length === 0) return undefined;
  const [state, at, ...fields] = reply;
  if (state === 'finished') return finished({ storedId, at: toScore(at) }, fields[0] as string);
  const message = stored({ storedId, state: state as StoredMessage['state'], at: toScore(at) }, fields);
  const blockedBy = fields[5] as string;
  return blockedBy ? { ...message, blockedBy } : message;
}

export function messageLook(reply: Reply): MessageLook | undefined {
  if (reply.length === 0) return undefined;
  const [
    now,
    paused,
    owner,
    state,
    at,
    head,
    token,
    deliveries,
    attempts,
    mark,
    crashes,
    failure,
    blockedBy,
    before,
    ...limits
  ] = reply;
  const [heldUntil, keyLimit, due] = limits;
  return {
    now: now as number,
    paused: paused === '1',
    owner: (owner as string) || undefined,
    state: state as MessageLook['state'],
    at: toScore(at),
    ...dueOf(state, due),
    publishedAt: publishedAtOf(String(head)),
    token: token as string,
    deliveries: deliveries as number,
    attempts: attempts as number,
    mark: mark === 'c' ? 'cancelled' : String(mark).startsWith('r') ? 'replaced' : undefined,
    crashes: crashes as number,
    failure: decodeFailureRecord(failure as string)?.failure,
    ...(blockedBy ? { blockedBy: blockedBy as string } : {}),
    before: timeOrNone(before),
    heldUntil: timeOrNone(heldUntil),
    keyLimit: (keyLimit as keyof Limits | '') || undefined,
  };
}

/** Of `lua/list.lua` with all fields. */
export function peekedMessages(state: StoredMessage['state'], [, more, ...fields]: Reply): PeekedMessages {
  const messages: StoredMessage[] = [];
  let last: Position | undefined;
  for (let i = 0; i < fields.length; i += FIELDS_PER_PEEKED_MESSAGE) {
    const [storedId, at, ...rest] = fields.slice(i, i + FIELDS_PER_PEEKED_MESSAGE);
    last = { storedId: storedId as string, at: toScore(at) };
    if (typeof rest[0] === 'string') messages.push(stored({ ...last, state }, rest));
  }
  return { messages, next: more === 1 ? last : undefined };
}

/** Of `lua/list-tagged.lua`. */
export function taggedMessages(state: PeekedState, [more, last, ...fields]: Reply): PeekedMessages {
  const { messages } = peekedMessages(state === 'due' ? 'scheduled' : state, [0, 0, ...fields]);
  return { messages, next: more === 1 ? { storedId: last as string, at: 0 } : undefined };
}

/** Of `lua/list.lua` with endings in the place of envelopes, and nothing else. What cannot be read is left out. */
export function peekedEndings([, more, ...fields]: Reply): PeekedMessages {
  const messages: StoredMessage[] = [];
  let last: Position | undefined;
  for (let i = 0; i < fields.length; i += 3) {
    const [storedId, at, ending] = fields.slice(i, i + 3);
    last = { storedId: storedId as string, at: toScore(at) };
    const message = typeof ending === 'string' ? finished(last, ending) : undefined;
    if (message) messages.push(message);
  }
  return { messages, next: more === 1 ? last : undefined };
}

/** Of `lua/list.lua` with failures only, or without a field. */
export function deadLetterPage(withFailures: boolean, [now, more, ...fields]: Reply): DeadLetterPage {
  const letters: ListedDeadLetter[] = [];
  for (let i = 0; i < fields.length; i += withFailures ? 3 : 2) {
    letters.push({
      storedId: fields[i] as string,
      diedAt: toScore(fields[i + 1]),
      failure: withFailures ? decodeFailureRecord(fields[i + 2] as string)?.failure : undefined,
    });
  }
  return { letters, next: more === 1 ? letters.at(-1) : undefined, now: now as number };
}

/** Whether each dead letter was there. */
export function wereFound([digits]: Reply): boolean[] {
  return Array.from(String(digits), (digit) => digit === '1');
}

function stored(
  place: Pick<StoredMessage, 'storedId' | 'state' | 'at'>,
  [envelope, deliveries, attempts, due, record]: Reply,
): StoredMessage {
  const failures = decodeFailureRecord(record as string);
  return {
    ...place,
    ...dueOf(place.state, due),
    envelope: envelope as string,
    deliveries: deliveries as number,
    attempts: attempts as number,
    failure: failures?.failure,
    history: failures?.history ?? [],
  };
}

/** What waits has its due time as its place, and what has died or ended has no use for it. */
function dueOf(state: Reply[number] | undefined, due: Reply[number] | undefined): { readonly dueAt?: number } {
  const dueAt = state === 'in-flight' ? timeOrNone(due) : undefined;
  return dueAt === undefined ? {} : { dueAt };
}

function finished(place: Position, text: string): StoredMessage | undefined {
  const ended = decodeEnding(text);
  return ended && { ...place, state: 'finished', ...ended };
}

/** A score as Redis writes it; another program may have given a member an infinite one. */
export function toScore(text: string | number | undefined): number {
  return Number(String(text).replace('inf', 'Infinity'));
}

/** Scripts say -1 if there is no time. */
export function timeOrNone(time: string | number | undefined): number | undefined {
  return time === undefined || Number(time) < 0 ? undefined : Number(time);
}

/** Reads what the scripts publish: `due <ms>`, `schedules <ms>` or `cancelled <token> <stored id>`. Anything else is not ours. */
export function decodeSignal(message: string): PartitionSignal | undefined {
  const [kind, value] = message.split(' ', 2);
  if (!value) return undefined;
  if ((kind === 'due' || kind === 'schedules') && Number.isFinite(Number(value))) return { kind, at: Number(value) };
  if (kind === 'cancelled') {
    return { kind, token: value, storedId: message.slice(kind.length + value.length + 2) };
  }
  return undefined;
}
