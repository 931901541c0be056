/** What turns the direction of what stands around it, breaks lines, or is not seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A name that somebody has chosen, such as an id, with what cannot be seen in it as an escape: so that two that differ look different. */
export function visible(name: string): string {
  return name.replaceAll(UNSEEN, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}
