import { MAX_TIME } from '../../time/date.js';
import type { FinishedOutcome } from '../../errors/publishing.errors.js';
import type { FailedAttempt, Failure } from '../../messages/failure.js';
import { decodeFailureRecord } from '../../messages/failure-record.js';
import { timeOrNone, toScore } from '../calls/replies.js';
import type { Reply } from '../driver.interface.js';

export interface StoredMessage {
  readonly storedId: string;
  readonly state: 'scheduled' | 'in-flight' | 'dead' | 'finished';
  readonly envelope: string;
  /**
   * Scheduled: due time. In flight: end of the lease. Dead: time of death. Finished: time of its end. Epoch milliseconds; any number if
   * another program wrote it.
   */
  readonly at: number;
  /** In flight: its due time, before which its handler has not begun; left out if not known. Epoch milliseconds. */
  readonly dueAt?: number;
  readonly deliveries: number;
  readonly attempts: number;
  readonly failure: Failure | undefined;
  /** Latest failed attempts, the last one first; at most 10. */
  readonly history: readonly FailedAttempt[];
  /** In an ordered topic, the stored id of the message of its key that has to be done first. Only set in a look at one message. */
  readonly blockedBy?: string;
  /** Set for a finished message. */
  readonly ending?: Ending;
}

/** End of a message. */
export interface Ending {
  readonly outcome: FinishedOutcome;
  /** Its last due time, epoch milliseconds. */
  readonly dueAt: number | undefined;
  /** Duration of the last handler call, in milliseconds; `undefined` if not known, or if there was no call. */
  readonly duration: number | undefined;
  /** Name of the process that has handled it; `undefined` if none has, or if not known. */
  readonly process: string | undefined;
}

/** `due`: the scheduled messages whose time has come. */
export type PeekedState = StoredMessage['state'] | 'due';

/** A place in the order of a state; its message may be gone. */
export interface Position {
  /** As {@link StoredMessage.at}. */
  readonly at: number;
  readonly storedId: string;
}

export interface PeekRequest {
  readonly state: PeekedState;
  /** Of those that wait, only the messages that wait behind others of their key, or for its limits; else only the others. */
  readonly blocked?: boolean;
  /**
   * Only messages that carry this tag, in order of the bytes of their stored ids, whether or not they are blocked. A page may be empty
   * though more follow; finished messages are not listed by tag.
   */
  readonly tag?: string | undefined;
  /** The page begins behind this place. */
  readonly after?: Position | undefined;
  /** Most messages wanted, 1 to `MAX_BATCH`. */
  readonly limit: number;
  /** Bytes of envelopes and failures after which the page ends early, at most 1 MiB; one message comes in any case. */
  readonly maxBytes: number;
}

export interface PeekedMessages {
  /** In order of {@link StoredMessage.at}, equal ones in order of the bytes of their stored ids. */
  readonly messages: readonly StoredMessage[];
  /** Place where the next page begins; `undefined` if this was the last. */
  readonly next: Position | undefined;
}

const FIELDS_PER_PEEKED_MESSAGE = 7;

export function storedMessage(storedId: string, reply: Reply): StoredMessage | undefined {
  if (reply.length === 0) return undefined;
  const [state, at, ...fields] = reply;
  if (state === 'finished') return finished({ storedId, at: toScore(at) }, fields[0] as string);
  const message = stored({ storedId, state: state as StoredMessage['state'], at: toScore(at) }, fields);
  const blockedBy = fields[5] as string;
  return blockedBy ? { ...message, blockedBy } : message;
}

/** Reads a reply of `lua/list.lua` with all fields. */
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

/** Reads a reply of `lua/list-tagged.lua`. */
export function taggedMessages(state: PeekedState, [more, last, ...fields]: Reply): PeekedMessages {
  const { messages } = peekedMessages(state === 'due' ? 'scheduled' : state, [0, 0, ...fields]);
  return { messages, next: more === 1 ? { storedId: last as string, at: 0 } : undefined };
}

/** Reads a reply of `lua/list.lua` with endings in place of envelopes, and nothing else. Unreadable entries are left out. */
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

/** Returns the due time of a message in flight: one that waits has it as its place, and one that has died or ended has no use for it. */
export function dueOf(state: Reply[number] | undefined, due: Reply[number] | undefined): { readonly dueAt?: number } {
  const dueAt = state === 'in-flight' ? timeOrNone(due) : undefined;
  return dueAt === undefined ? {} : { dueAt };
}

function finished(place: Position, text: string): StoredMessage | undefined {
  const ended = decodeEnding(text);
  return ended && { ...place, state: 'finished', ...ended };
}

const OUTCOMES: Readonly<Record<string, FinishedOutcome>> = { a: 'acked', c: 'cancelled', d: 'delivered' };

/** Format of `lua/modules/finished.lua`: a line each for the end, the delivery record and the failure, and then the envelope. */
const ENDING =
  /^(?<outcome>[acd]) (?<duration>\S+) (?<process>\S+)\n(?<record>[^\n]*)\n(?<failures>[^\n]*)\n(?<envelope>[^]*)$/;

/** `[mark ]token delivery attempt due[ crashes]`, as `lua/modules/record.lua` has it. A token can begin like a mark. */
const RECORD = /^(?:(?:c|r\d+(?:f\d+)?|f\d+) )?\S+ (?<deliveries>\d+) (?<attempts>\d+) (?<due>\d+)(?: \d+)?$/;

/** Stands for what is not known. */
const UNKNOWN = '-';

/** Stored data of a message that has ended. */
type Ended = Required<Pick<StoredMessage, 'envelope' | 'deliveries' | 'attempts' | 'failure' | 'history' | 'ending'>>;

/** @returns `undefined` if another program has written it */
export function decodeEnding(text: string): Ended | undefined {
  const found = ENDING.exec(text)?.groups as Record<EndingPart, string> | undefined;
  if (!found) return undefined;
  const { deliveries, attempts, due } = RECORD.exec(found.record)?.groups ?? {};
  const failures = decodeFailureRecord(found.failures);
  return {
    envelope: found.envelope,
    deliveries: numberOf(deliveries) ?? 0,
    attempts: numberOf(attempts) ?? 0,
    failure: failures?.failure,
    history: failures?.history ?? [],
    ending: {
      outcome: OUTCOMES[found.outcome] as FinishedOutcome,
      dueAt: numberOf(due),
      duration: numberOf(found.duration),
      process: found.process === UNKNOWN ? undefined : found.process,
    },
  };
}

type EndingPart = 'outcome' | 'duration' | 'process' | 'record' | 'failures' | 'envelope';

/** Reads a number of milliseconds or deliveries; `undefined` if it is none, or not known. */
function numberOf(text: string | undefined): number | undefined {
  const number = /^\d+$/.test(text ?? '') ? Number(text) : undefined;
  return number !== undefined && number <= MAX_TIME ? number : undefined;
}
