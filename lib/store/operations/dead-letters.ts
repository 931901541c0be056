import { assertLength } from '../assert-times.js';
import type {
  CallId,
  DeadLetterOperations,
  DeadLetterPage,
  DeadLetterQuery,
  Death,
  Partition,
  Requeue,
  RetentionLimits,
} from '../broker.interface.js';
import type { RedisKeys } from '../keys.js';
import { deadLetterPage, timeOrNone, wereFound } from '../records/replies.js';
import type { OperationOptions } from './operation-options.interface.js';
import { PartitionScripts } from './partition-scripts.js';

/** Most bytes of failures in a page of dead letters. */
const DEAD_LETTER_BYTES = 262_144;

/** The operations about messages that have ended: dead letters, and the finished that are kept. */
export class RedisDeadLetters implements DeadLetterOperations {
  readonly #keys: RedisKeys;
  readonly #scripts: PartitionScripts;

  constructor(options: OperationOptions) {
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

  async requeueDead(partition: Partition, call: CallId, deaths: readonly Requeue[], delay: number): Promise<boolean[]> {
    assertLength('The delay', delay);
    const rest = deaths.flatMap(({ storedId, diedAt, envelope = '' }) => [storedId, diedAt, envelope]);
    const given = { ...this.#scripts.named(partition, call), delay, rest };
    const isEdited = deaths.some(({ envelope }) => envelope !== undefined);
    return wereFound(await this.#scripts.run('requeue-dead', partition, given, isEdited));
  }

  async removeDead(partition: Partition, call: CallId, deaths: readonly Death[]): Promise<boolean[]> {
    const rest = deaths.flatMap(({ storedId, diedAt }) => [storedId, diedAt]);
    return wereFound(
      await this.#scripts.run('remove-dead', partition, {
        ...this.#scripts.named(partition, call),
        rest,
      }),
    );
  }

  async trimDead(partition: Partition, { maxAge = -1, maxCount = -1 }: RetentionLimits): Promise<number | undefined> {
    const given = { ...this.#scripts.nextCall(partition), max_age: maxAge, max_count: maxCount };
    const [, nextAt] = await this.#scripts.run('trim-dead', partition, given);
    return timeOrNone(nextAt);
  }

  async trimFinished(partition: Partition): Promise<number | undefined> {
    const [, nextAt] = await this.#scripts.run('trim-finished', partition, {});
    return timeOrNone(nextAt);
  }
}
