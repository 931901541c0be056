import { shownJson } from './text.js';

/** Writes one document in one line. Unknown values are `null`, so that a form always has the same properties. */
export function toJson(value: unknown): string {
  return shownJson(JSON.stringify(value, (_, part: unknown) => (part === undefined ? null : part)));
}
