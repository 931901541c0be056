import { shownJson } from './text.js';

/** One document in one line. What is not known is `null`, so that a form has the same properties always. */
export function toJson(value: unknown): string {
  return shownJson(JSON.stringify(value, (_, part: unknown) => (part === undefined ? null : part)));
}
