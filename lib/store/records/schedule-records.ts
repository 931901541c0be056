import { isName } from '../../messages/assert-id.js';
import { isName as isTopic } from '../../messages/topic.js';
import type { ScheduleContent, SchedulePlace, StoredSchedule } from '../broker.interface.js';

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
