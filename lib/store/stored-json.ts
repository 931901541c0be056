/** Parses stored JSON; `undefined` if it is none, since another program, or a later version, may have written it. */
export function fromJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
