import { shownLines } from './text.js';

/** Styles of text. */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
} as const;

export type Style = keyof typeof STYLES;

/** Colours text for people; leaves it as it is for a stream without colours. */
export type Paint = (style: Style, text: string) => string;

/** Whether a stream has colours: only a terminal does; Node.js also checks the variable NO_COLOR, among others. */
function hasColours(stream: NodeJS.WriteStream, allowed: boolean): boolean {
  return allowed && stream.isTTY && stream.hasColors();
}

const CODES = new RegExp(`(\\u001B\\[(?:${Object.values(STYLES).flat().join('|')})m)`);

/**
 * Writes text to the terminal; all text has to pass here, because the data in Redis may come from someone who wants to harm the terminal. Of
 * control characters, only line breaks pass, and colours where there are any.
 */
export function say(stream: NodeJS.WriteStream, text: string, allowed: boolean): void {
  const parts = hasColours(stream, allowed) ? text.split(CODES) : [text];
  // Colours are at the odd places.
  stream.write(parts.map((part, i) => (i % 2 === 1 ? part : shownLines(part))).join(''));
}

/** Returns the function that colours text for a stream. */
export function paintFor(stream: NodeJS.WriteStream, allowed: boolean): Paint {
  if (!hasColours(stream, allowed)) return (_, text) => text;
  return (style, text) => {
    const [on, off] = STYLES[style];
    return text === '' ? '' : `\u001B[${on}m${text}\u001B[${off}m`;
  };
}
