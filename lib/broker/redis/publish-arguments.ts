import type { DueTime, NewMessage } from '../broker.interface.js';

const LETTERS: Readonly<Record<NewMessage['onDuplicate'], string>> = {
  reject: 'e',
  ignore: 'i',
  replace: 'r',
  impossible: 'n',
};

/** Appends the messages to the arguments of a script, as `lua/publish.lua` reads them. */
export function encodeMessages(messages: readonly NewMessage[], args: (string | number)[]): void {
  const dues = oneOrAll(messages, (a, b) => isSame(a.due, b.due));
  const onDuplicates = oneOrAll(messages, (a, b) => a.onDuplicate === b.onDuplicate);
  args.push(
    dues.map(({ due }) => encodeDueTime(due)).join(','),
    onDuplicates.map(({ onDuplicate }) => LETTERS[onDuplicate]).join(''),
  );
  for (const { storedId, envelope } of messages) args.push(storedId, envelope);
}

/** As `lua/includes/due-time.lua` reads it. */
export function encodeDueTime(due: DueTime): string {
  return 'after' in due ? `+${due.after}` : String(due.at);
}

/** What all messages have in common is sent, and read, once. */
function oneOrAll(
  messages: readonly NewMessage[],
  areAlike: (a: NewMessage, b: NewMessage) => boolean,
): readonly NewMessage[] {
  const [first] = messages;
  return first && messages.every((message) => areAlike(message, first)) ? [first] : messages;
}

function isSame(a: DueTime, b: DueTime): boolean {
  return 'after' in a ? 'after' in b && a.after === b.after : 'at' in b && a.at === b.at;
}
