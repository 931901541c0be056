import type { FinishedOutcome } from '../../errors/publishing.errors.js';
import { decodeFailureRecord } from '../../messages/failure-record.js';
import { MAX_TIME } from '../../time/date.js';
import type { StoredMessage } from '../broker.interface.js';

const OUTCOMES: Readonly<Record<string, FinishedOutcome>> = { a: 'acked', c: 'cancelled', d: 'delivered' };

/** What `lua/modules/finished.lua` says of it: a line each for the end, the delivery record and the failure, and then the envelope. */
const ENDING =
  /^(?<outcome>[acd]) (?<duration>\S+) (?<process>\S+)\n(?<record>[^\n]*)\n(?<failures>[^\n]*)\n(?<envelope>[^]*)$/;

/** `[mark ]token delivery attempt due[ crashes]`, as `lua/modules/record.lua` has it. A token may begin as a mark does. */
const RECORD = /^(?:(?:c|r\d+(?:f\d+)?|f\d+) )?\S+ (?<deliveries>\d+) (?<attempts>\d+) (?<due>\d+)(?: \d+)?$/;

/** In place of what is not known. */
const UNKNOWN = '-';

/** What is stored of a message that has ended. */
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

/** `undefined` if it is not known, or no number of milliseconds or deliveries. */
function numberOf(text: string | undefined): number | undefined {
  const number = /^\d+$/.test(text ?? '') ? Number(text) : undefined;
  return number !== undefined && number <= MAX_TIME ? number : undefined;
}
