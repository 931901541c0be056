import { inspect } from 'node:util';

/** A value as it is shown in the name of a test: short, on one line, with its type visible. */
export function shown(value: unknown): string {
  const text = inspect(value, { depth: 2, breakLength: Infinity, compact: 10, maxStringLength: 25 });
  return text.replaceAll(/\s+/g, ' ').slice(0, 80);
}
