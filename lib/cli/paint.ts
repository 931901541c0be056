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

/** Colours only on a terminal that has them; the variable NO_COLOR is one of what Node.js asks for that. */
export function paintFor(stream: NodeJS.WriteStream, allowed: boolean): Paint {
  if (!allowed || !stream.isTTY || !stream.hasColors()) return (_, text) => text;
  return (style, text) => {
    const [on, off] = STYLES[style];
    return text === '' ? '' : `\u001B[${on}m${text}\u001B[${off}m`;
  };
}
