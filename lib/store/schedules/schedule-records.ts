import { isName } from '../../messages/message-ref.js';
import { isName as isTopic } from '../../messages/topic.js';

/** Name of a schedule. */
export interface ScheduleName {
  readonly id: string;
}

/** Place of a schedule: the partition of this key, as for everything that it publishes. */
export interface SchedulePlace {
  readonly topic: string;
  readonly key: string;
}

/** An entry of the list of all schedules. */
export interface IndexedSchedule extends ScheduleName, SchedulePlace {}

/** Content of a schedule; a broker keeps it as it is. */
export interface ScheduleContent {
  /** Times at which it publishes; one line. */
  readonly definition: string;
  /** Envelope of the messages that it publishes; the stored time of publishing is replaced in each. */
  readonly envelope: string;
}

/** A schedule as it is stored; any text if another program wrote it. */
export interface StoredSchedule extends ScheduleName, ScheduleContent {
  /** Progress of the schedule; one line. No two writes have the same, so each change names the state that its caller has seen. */
  readonly state: string;
}

/** A schedule that was looked up. */
export interface FoundSchedule extends StoredSchedule {
  /** Time of its next occurrence according to the broker, epoch milliseconds; `undefined`: never. */
  readonly nextAt: number | undefined;
}

export interface ScheduleWrite extends ScheduleName {
  /** State that has to be stored; `undefined`: no such schedule may be stored. */
  readonly expected: string | undefined;
  /** The new state. */
  readonly state: string;
  /** The new content; `undefined`: it stays. */
  readonly content?: ScheduleContent | undefined;
  /** Time of its next occurrence, epoch milliseconds; `undefined`: never. */
  readonly nextAt: number | undefined;
}

// A schedule is stored as a line for the state, one for the definition, and the envelope of its messages. The text of another
// program is split all the same; the readers of the parts find out whether they can be read.
const LINE_BREAK = '\n';

/** A topic has no space in its name. */
const PLACE = /^(\S+) (.+)$/s;

/** Encodes the part behind the state. */
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

/** Decodes a place; `undefined` if it is none. */
export function decodePlace(text: string | null | undefined): SchedulePlace | undefined {
  const [, topic, key] = PLACE.exec(text ?? '') ?? [];
  return isTopic(topic) && key !== undefined && isName({ id: key, key }) ? { topic, key } : undefined;
}

/** Splits a text into its first line, and all that follows. */
function splitLine(text: string): [line: string, rest: string] {
  const end = text.indexOf(LINE_BREAK);
  return end === -1 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)];
}
