const ASCII = /^[\0-\x7f]*$/;

/** Returns a text with one character for each of its bytes of UTF-8, as scripts handle texts. */
export function toBytes(text: string | number): string {
  const given = String(text);
  return ASCII.test(given) ? given : Buffer.from(given).toString('latin1');
}

/** Returns the text of such bytes. */
export function fromBytes(bytes: string): string {
  return ASCII.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString();
}
