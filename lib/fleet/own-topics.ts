import { createHash } from 'node:crypto';

/** The topics that this process handles, and the name of their list. */
export interface OwnTopics {
  readonly digest: string;
  /** Sorted. */
  readonly topics: ReadonlySet<string>;
}

export function ownTopics(given: readonly string[]): OwnTopics {
  const topics = new Set(given.toSorted());
  const digest = createHash('sha256')
    .update(JSON.stringify([...topics]))
    .digest('base64url')
    .slice(0, 22);
  return { digest, topics };
}
