import { assertLength } from '../calls/assert-times.js';
import { PartitionScripts } from '../calls/partition-scripts.js';
import { timeOrNone } from '../calls/replies.js';
import type { StoreKeys } from '../keys.js';
import type { CallId, Partition } from '../partition.js';
import type { StoreOptions } from '../store-options.interface.js';
import {
  type DeadLetterPage,
  type DeadLetterQuery,
  type Death,
  type Requeue,
  deadLetterPage,
  wereFound,
} from './dead-letters.js';
import type { RetentionLimits } from './retention.js';

/** Most bytes of failures in a page of dead letters. */
const DEAD_LETTER_BYTES = 262_144;

/** Operations on messages that have ended: dead letters, and finished messages that are kept. */
export class DeadLetterStore {
  readonly #keys: StoreKeys;
  readonly #scripts: PartitionScripts;

  constructor(options: StoreOptions) {
    this.#keys = options.keys;
    this.#scripts = new PartitionScripts(options);
  }

  async listDead(
    partition: Partition,
    { after, since, until, limit, withFailures }: DeadLetterQuery,
  ): Promise<DeadLetterPage> {
    const reply = await this.#scripts.run('list', partition, {
      set: this.#keys.partition(partition).dead,
      limit,
      max_bytes: DEAD_LETTER_BYTES,
      since: since ?? '-inf',
      till: until ?? 'now',
      fields: withFailures ? 'f' : '',
      is_dead: 1,
      after_score: after?.diedAt ?? '',
      after_id: after?.storedId ?? '',
    });
    return deadLetterPage(withFailures, reply);
  }

  /**
   * Schedules dead letters again, due after `delay` milliseconds, with no attempt spent. All else stays as it is.
   *
   * @param deaths 1 to `MAX_BATCH`; one at most with an envelope
   * @returns in their order, whether each was requeued; `false` if it is gone
   */
  async requeueDead(partition: Partition, call: CallId, deaths: readonly Requeue[], delay: number): Promise<boolean[]> {
    assertLength('The delay', delay);
    const rest = deaths.flatMap(({ storedId, diedAt, envelope = '' }) => [storedId, diedAt, envelope]);
    const given = { ...this.#scripts.named(partition, call), delay, rest };
    const isEdited = deaths.some(({ envelope }) => envelope !== undefined);
    return wereFound(await this.#scripts.run('requeue-dead', partition, given, isEdited));
  }

  /**
   * Removes dead letters for good.
   *
   * @param deaths 1 to `MAX_BATCH`
   * @returns in their order, whether each was removed; `false` if it is gone
   */
  async removeDead(partition: Partition, call: CallId, deaths: readonly Death[]): Promise<boolean[]> {
    const rest = deaths.flatMap(({ storedId, diedAt }) => [storedId, diedAt]);
    return wereFound(
      await this.#scripts.run('remove-dead', partition, {
        ...this.#scripts.named(partition, call),
        rest,
      }),
    );
  }

  /**
   * Removes the dead letters that are over the limits; some hundred at a time. Returns when to call again (epoch milliseconds),
   * `undefined` if nothing is left that will expire.
   */
  async trimDead(partition: Partition, { maxAge = -1, maxCount = -1 }: RetentionLimits): Promise<number | undefined> {
    const given = { ...this.#scripts.nextCall(partition), max_age: maxAge, max_count: maxCount };
    const [, nextAt] = await this.#scripts.run('trim-dead', partition, given);
    return timeOrNone(nextAt);
  }

  /**
   * Removes finished messages that are kept beyond the limits set by the owner's claims; some hundred at a time. Returns the same as
   * {@link trimDead}, and 0 if there is more to do at once.
   */
  async trimFinished(partition: Partition): Promise<number | undefined> {
    const [, nextAt] = await this.#scripts.run('trim-finished', partition, {});
    return timeOrNone(nextAt);
  }
}
