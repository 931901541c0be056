import type { ListedDeadLetter } from '../store/dead-letters/dead-letters.js';
import { toDate } from '../time/date.js';
import type { Failure, FailureReason } from '../messages/failure.js';
import { fromStoredId } from '../messages/stored-id.js';
import { fingerprintOf, patternOf } from './fingerprint.js';

/**
 * Dead letters with the same cause: the same reason, error name, code and message, apart from what differs from case to case.
 *
 * @publicApi
 */
export interface DeadLetterGroup {
  /** Identifier of the group in a filter. Equal failures have the same one in every process and at any time. */
  readonly fingerprint: string;
  readonly reason: FailureReason;
  /** Name of the error's class. */
  readonly name: string;
  readonly code: string | undefined;
  /** The error's message, with `<n>`, `<uuid>`, `<hex>`, `<id>`, `<email>` and `<text>` for numbers, ids, addresses and quoted text. */
  readonly pattern: string;
  readonly count: number;
  /** Time at which the first of those still there died. */
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** The one that died last. */
  readonly example: { readonly id: string; readonly key: string };
}

/**
 * The dead letters of a topic by cause.
 *
 * @publicApi
 */
export interface DeadLetterGroups {
  readonly total: number;
  /** The largest first. There are at most 1,000: the ones that were found first. */
  readonly groups: readonly DeadLetterGroup[];
  /** Dead letters that are in none of the groups: there were more than 1,000, or no failure is stored. */
  readonly ungrouped: number;
}

/** Most groups that are kept, so that failures which all differ do not fill the memory. */
const MAX_GROUPS = 1000;

interface Group extends Pick<DeadLetterGroup, 'reason' | 'name' | 'code' | 'pattern'> {
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
    const pattern = patternOf(message);
    const group = { reason, name, code, pattern, count: 0, firstAt: diedAt, lastAt: diedAt, exampleId: storedId };
    this.#groups.set(fingerprint, group);
    return group;
  }
}

function toGroup(fingerprint: string, { exampleId, firstAt, lastAt, ...group }: Group): DeadLetterGroup {
  const example = fromStoredId(exampleId);
  return { fingerprint, ...group, firstAt: toDate(firstAt), lastAt: toDate(lastAt), example };
}
