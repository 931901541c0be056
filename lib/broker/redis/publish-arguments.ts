import type { DueTime, NewMessage } from '../broker.interface.js';

const LETTERS: Readonly<Record<NewMessage['onDuplicate'], string>> = {
  reject: 'e',
  ignore: 'i',
  replace: 'r',
  impossible: 'n',
};

/** Appends the messages to the arguments of a script, as `lua/publish.lua` reads them. */
export function encodeMessages(messages: readonly NewMessage[], args: (string | number)[]): void {
  args.push(
    oneOrAll(messages, ({ due }) => encodeDueTime(due), ','),
    oneOrAll(messages, ({ onDuplicate }) => LETTERS[onDuplicate], ''),
  );
  for (const { storedId, envelope } of messages) args.push(storedId, envelope);
}

/** As `lua/includes/due-time.lua` reads it. */
export function encodeDueTime(due: DueTime): string {
  return 'after' in due ? `+${due.after}` : String(due.at);
}

/** What all messages have in common is sent, and read, once. */
function oneOrAll(messages: readonly NewMessage[], encode: (message: NewMessage) => string, separator: string): string {
  const all = messages.map(encode);
  const [first = ''] = all;
  return all.every((encoded) => encoded === first) ? first : all.join(separator);
}
