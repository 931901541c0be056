import type { StandardSchemaV1 } from '@standard-schema/spec';
import { isPlainObject } from './kinds.js';

/**
 * An issue that a schema found in a payload.
 *
 * @publicApi
 */
export interface PayloadIssue {
  /** Message of the schema, at most 500 characters. */
  readonly message: string;
  /** Path in the payload, such as `lines[0].sku`, at most 200 characters; left out for the payload as a whole. */
  readonly path?: string;
}

const MAX_ISSUES = 10;
const MAX_MESSAGE_LENGTH = 500;
const MAX_PATH_LENGTH = 200;

/** Converts issues to a form that can be kept with a message: the first 10, with their texts cut. */
export function toPayloadIssues(issues: readonly StandardSchemaV1.Issue[]): PayloadIssue[] {
  return issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => {
    const text = message.slice(0, MAX_MESSAGE_LENGTH);
    return path.length === 0 ? { message: text } : { message: text, path: pathText(path).slice(0, MAX_PATH_LENGTH) };
  });
}

/** Whether a stored value is an issue. */
export function isPayloadIssue(value: unknown): value is PayloadIssue {
  if (!isPlainObject(value) || typeof value['message'] !== 'string') return false;
  return value['path'] === undefined || typeof value['path'] === 'string';
}

/** Returns a path such as `lines[0].sku`. */
export function pathText(path: NonNullable<StandardSchemaV1.Issue['path']>): string {
  return path.reduce<string>((text, segment) => {
    const key = typeof segment === 'object' ? segment.key : segment;
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');
}
