import { isName } from '../../messages/message-ref.js';
import { isName as isTopic } from '../../messages/topic.js';

/** Names a schedule. */
export interface ScheduleName {
  readonly id: string;
}

/** Where a schedule is kept: in the partition of this key, as all that it publishes. */
export interface SchedulePlace {
  readonly topic: string;
  readonly key: string;
}

/** An entry of the list of all schedules. */
export interface IndexedSchedule extends ScheduleName, SchedulePlace {}

/** What a schedule is made of; a broker keeps it as it is. */
export interface ScheduleContent {
  /** When it publishes; one line. */
  readonly definition: string;
  /** Of the messages that it publishes; what is stored of the time of publishing is replaced in each. */
  readonly envelope: string;
}

/** A schedule as it is stored; any text if another program wrote it. */
export interface StoredSchedule extends ScheduleName, ScheduleContent {
  /** How far it has come; one line. No two writes have the same, so whoever changes a schedule says which state it has seen. */
  readonly state: string;
}

/** A schedule that was looked up. */
export interface FoundSchedule extends StoredSchedule {
  /** When the broker takes its next occurrence to be, epoch milliseconds; `undefined`: never. */
  readonly nextAt: number | undefined;
}

export interface ScheduleWrite extends ScheduleName {
  /** The state that has to be stored; `undefined`: no such schedule may be stored. */
  readonly expected: string | undefined;
  /** The new one. */
  readonly state: string;
  /** `undefined`: it stays. */
  readonly content?: ScheduleContent | undefined;
  /** When its next occurrence is, epoch milliseconds; `undefined`: never. */
  readonly nextAt: number | undefined;
}

// How schedules are written: a line for the state, one for the definition, and the envelope of their messages. What another
// program has written is taken apart all the same; whoever reads the parts finds out whether they can be read.
const LINE_BREAK = '\n';

/** A topic has no space in its name. */
const PLACE = /^(\S+) (.+)$/s;

/** What stands behind the state. */
export function encodeContent({ definition, envelope }: ScheduleContent): string {
  return definition + LINE_BREAK + envelope;
}

export function decodeSchedule(id: string, record: string): StoredSchedule {
  const [state, rest] = splitLine(record);
  const [definition, envelope] = splitLine(rest);
  return { id, state, definition, envelope };
}

export function encodePlace({ topic, key }: SchedulePlace): string {
  return `${topic} ${key}`;
}

/** `undefined` if it is no place. */
export function decodePlace(text: string | null | undefined): SchedulePlace | undefined {
  const [, topic, key] = PLACE.exec(text ?? '') ?? [];
  return isTopic(topic) && key !== undefined && isName({ id: key, key }) ? { topic, key } : undefined;
}

/** The first line of a text, and all that follows. */
function splitLine(text: string): [line: string, rest: string] {
  const end = text.indexOf(LINE_BREAK);
  return end === -1 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)];
}
