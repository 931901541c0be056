import type { StandardSchemaV1 } from '@standard-schema/spec';
import { toPayloadIssues } from '../messages/payload-issues.js';
import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/** How many issues the text of the error names. */
const NAMED_ISSUES = 3;

/**
 * A payload that its topic's schema does not accept. Thrown by a publish, before anything is sent; and what a stored
 * message of that kind dies of.
 *
 * @publicApi
 */
export class InvalidPayloadError extends DelayQueueError {
  static {
    defineKind(this, 'INVALID_PAYLOAD');
  }

  readonly code = 'INVALID_PAYLOAD';

  constructor(
    readonly topic: string,
    /** What the schema found wrong, as it said it. */
    readonly issues: readonly StandardSchemaV1.Issue[],
  ) {
    super(
      `The payload does not fit the schema of topic '${topic}': ${summary(issues)}. The schema is given what the ` +
        `handler would get: unless a serializer keeps it, JSON makes a string of a Date.`,
    );
  }
}

function summary(issues: readonly StandardSchemaV1.Issue[]): string {
  const texts = toPayloadIssues(issues).map(({ path, message }) =>
    path === undefined ? message : `${path}: ${message}`,
  );
  const named = texts.slice(0, NAMED_ISSUES);
  const more = issues.length - named.length;
  return more > 0 ? `${named.join('; ')}; and ${more} more` : named.join('; ');
}
