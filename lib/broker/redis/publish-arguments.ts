import type { DueTime, NewMessage } from '../broker.interface.js';

const LETTERS: Readonly<Record<NewMessage['onDuplicate'], string>> = {
  reject: 'e',
  ignore: 'i',
  replace: 'r',
  impossible: 'n',
};

/** Appends the messages to the arguments of a script, as `lua/publish.lua` reads them. */
export function encodeMessages(messages: readonly NewMessage[], args: (string | number)[]): void {
  // What all messages have in common is sent, and read, once.
  const [first] = messages;
  const alike = first ? [first] : [];
  const dues = messages.every(({ due }) => first && isSame(due, first.due)) ? alike : messages;
  const onDuplicates = messages.every(({ onDuplicate }) => onDuplicate === first?.onDuplicate) ? alike : messages;
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

function isSame(a: DueTime, b: DueTime): boolean {
  return 'after' in a ? 'after' in b && a.after === b.after : 'at' in b && a.at === b.at;
}
