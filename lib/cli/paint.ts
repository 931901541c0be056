import { shownLines } from './text.js';

/** How a text stands out. */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
} as const;

export type Style = keyof typeof STYLES;

/** Puts colours on text for people; on a stream that takes none it leaves the text as it is. */
export type Paint = (style: Style, text: string) => string;

/** Only a terminal has them; the variable NO_COLOR is one of what Node.js asks for that. */
function hasColours(stream: NodeJS.WriteStream, allowed: boolean): boolean {
  return allowed && stream.isTTY && stream.hasColors();
}

const CODES = new RegExp(`(\\u001B\\[(?:${Object.values(STYLES).flat().join('|')})m)`);

/**
 * The one way out to the terminal, which all text passes, whatever it was made of: what Redis holds may be of somebody who wants to do
 * something to it. Only line breaks go through, and colours where there are any.
 */
export function say(stream: NodeJS.WriteStream, text: string, allowed: boolean): void {
  const parts = hasColours(stream, allowed) ? text.split(CODES) : [text];
  // Colours are at the odd places.
  stream.write(parts.map((part, i) => (i % 2 === 1 ? part : shownLines(part))).join(''));
}

/** What puts colours on text for a stream. */
export function paintFor(stream: NodeJS.WriteStream, allowed: boolean): Paint {
  if (!hasColours(stream, allowed)) return (_, text) => text;
  return (style, text) => {
    const [on, off] = STYLES[style];
    return text === '' ? '' : `\u001B[${on}m${text}\u001B[${off}m`;
  };
}
