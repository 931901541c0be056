import type { ListedDeadLetter } from '../broker/broker.interface.js';
import { toDate } from '../time/date.js';
import type { Failure } from '../messages/failure.js';
import { fromStoredId } from '../messages/stored-id.js';
import type { DeadLetterGroup, DeadLetterGroups } from './dead-letter-groups.interface.js';
import { fingerprintOf, patternOf } from './fingerprint.js';

/** Most groups that are kept, so that messages which all differ do not fill the memory. */
const MAX_GROUPS = 1000;

interface Group {
  readonly failure: Failure;
  count: number;
  firstAt: number;
  lastAt: number;
  exampleId: string;
}

/** Counts dead letters by their fingerprint. */
export class DeadLetterGrouping {
  readonly #groups = new Map<string, Group>();
  #total = 0;
  #ungrouped = 0;

  add({ storedId, diedAt, failure }: ListedDeadLetter): void {
    this.#total++;
    const group = failure && this.#groupOf(failure, diedAt, storedId);
    if (!group) {
      this.#ungrouped++;
      return;
    }
    group.count++;
    group.firstAt = Math.min(group.firstAt, diedAt);
    if (diedAt >= group.lastAt) [group.lastAt, group.exampleId] = [diedAt, storedId];
  }

  result(): DeadLetterGroups {
    const groups = Array.from(this.#groups, ([fingerprint, group]) => toGroup(fingerprint, group));
    return {
      total: this.#total,
      groups: groups.toSorted((a, b) => b.count - a.count || b.lastAt.getTime() - a.lastAt.getTime()),
      ungrouped: this.#ungrouped,
    };
  }

  #groupOf(failure: Failure, diedAt: number, storedId: string): Group | undefined {
    const fingerprint = fingerprintOf(failure);
    const known = this.#groups.get(fingerprint);
    if (known || this.#groups.size === MAX_GROUPS) return known;
    const { reason, name, code, message } = failure;
    // Not the stack and the like, which are long.
    const kept = { reason, name, message: patternOf(message), ...(code !== undefined && { code }) };
    const group = { failure: kept, count: 0, firstAt: diedAt, lastAt: diedAt, exampleId: storedId };
    this.#groups.set(fingerprint, group);
    return group;
  }
}

function toGroup(fingerprint: string, { failure, count, firstAt, lastAt, exampleId }: Group): DeadLetterGroup {
  const { reason, name, code, message: pattern } = failure;
  const example = fromStoredId(exampleId);
  return {
    fingerprint,
    reason,
    name,
    code,
    pattern,
    count,
    firstAt: toDate(firstAt),
    lastAt: toDate(lastAt),
    example,
  };
}
