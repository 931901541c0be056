import { isError } from './checks/kinds.js';

/** Part of a logger that the library needs. Nest's `LoggerService` fits. */
export interface Log {
  debug?(message: string): void;
  log(message: string): void;
  warn(message: string): void;
  error(message: string, stack?: string): void;
}

/** Longest text of an error's message in a log line, in characters. */
const MAX_LENGTH = 300;

/** The first line of an error's message, short enough for a log line. */
export function firstLine(text: string): string {
  const [line = ''] = text.split('\n', 1);
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
}

/** Text of whatever was thrown. */
export function errorText(error: unknown): string {
  return isError(error) ? error.message : String(error);
}

/** The first line of that, short enough for a log line. */
export function errorLine(error: unknown): string {
  return firstLine(errorText(error));
}

/** An id in quotes for a log line: whatever it contains, the line stays one line. */
export function quoted(id: string): string {
  const text = id.replaceAll(/[\p{Cc}\u2028\u2029]/gu, (character) => JSON.stringify(character).slice(1, -1));
  return `'${text}'`;
}

/** Such as `1 handler` and `2 handlers`. */
export function counted(count: number, singular: string): string {
  return `${count} ${singular}${count === 1 ? '' : 's'}`;
}
