/** Characters that change the direction of the text around them, break lines, or are invisible. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns a name that someone has chosen, such as an id, with its invisible characters escaped, so that different names look different. */
export function visible(name: string): string {
  return name.replaceAll(UNSEEN, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}
