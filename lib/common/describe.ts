import { inspect } from 'node:util';

/** A value as it is shown in an error message: short, on one line, with its type visible. */
export function describe(value: unknown): string {
  const text = inspect(value, { depth: 1, breakLength: Infinity, maxStringLength: 60, maxArrayLength: 5 });
  return shortened(text.replaceAll(/\s*\n\s*/g, ' '));
}

function shortened(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}
