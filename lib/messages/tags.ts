import { describe } from '../checks/describe.js';
import { MAX_TAGS, MAX_TAG_LENGTH } from '../checks/limits.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { SEPARATOR } from './stored-id.js';

/** Whether it is a tag: 1 to 128 characters that Redis can keep apart. */
export function isTag(value: unknown): value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_TAG_LENGTH) return false;
  return !value.includes(SEPARATOR) && value.isWellFormed();
}

/** @throws InvalidArgumentError unless it is a tag */
export function assertTag(name: string, value: unknown): asserts value is string {
  if (isTag(value)) return;
  throw new InvalidArgumentError(
    `${name} must be a string of 1 to ${MAX_TAG_LENGTH} characters, without U+0000 and half surrogate pairs. ` +
      `Given: ${describe(value)}.`,
  );
}

/**
 * @returns each tag once; `undefined` if there are none
 * @throws InvalidArgumentError unless these are at most 8 tags
 */
export function checkedTags(name: string, tags: unknown): readonly string[] | undefined {
  if (!Array.isArray(tags) || tags.length > MAX_TAGS) {
    throw new InvalidArgumentError(
      `${name} must be an array of at most ${MAX_TAGS} strings. Given: ${describe(tags)}.`,
    );
  }
  tags.forEach((tag, i) => assertTag(`${name}[${i}]`, tag));
  return tags.length === 0 ? undefined : [...new Set(tags as string[])];
}
