import { assertLength } from '../assert-times.js';
import type {
  BrokerOperations,
  CallId,
  DeadLetterPage,
  DeadLetterQuery,
  Death,
  Partition,
  Requeue,
  RetentionLimits,
} from '../broker.interface.js';
import type { Calls, Given, Reply } from './calls.interface.js';
import type { PartitionKeys, RedisKeys } from './redis-keys.js';
import { RedisSchedules } from './redis-schedules.js';
import { deadLetterPage, timeOrNone, wereFound } from './replies.js';
import type { OperationOptions } from './redis-reports.js';
import type { ScriptName } from './scripts.js';

/** Most bytes of failures in a page of dead letters. */
const DEAD_LETTER_BYTES = 262_144;

type DeadLetterOperation = 'listDead' | 'requeueDead' | 'removeDead' | 'trimDead' | 'trimFinished';

/** The operations about messages that have ended: dead letters, and the finished that are kept. */
export class RedisDeadLetters extends RedisSchedules implements Pick<BrokerOperations, DeadLetterOperation> {
  readonly #calls: Calls;
  readonly #keys: RedisKeys;

  constructor(options: OperationOptions) {
    super(options);
    this.#calls = options.calls;
    this.#keys = options.keys;
  }

  async listDead(
    partition: Partition,
    { after, since, until, limit, withFailures }: DeadLetterQuery,
  ): Promise<DeadLetterPage> {
    const reply = await this.#run('list', partition, {
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
    const given = { answered: this.#keys.answered(partition, call.caller), sequence: call.sequence, delay, rest };
    const isEdited = deaths.some(({ envelope }) => envelope !== undefined);
    return wereFound(await this.#run('requeue-dead', partition, given, isEdited));
  }

  async removeDead(partition: Partition, call: CallId, deaths: readonly Death[]): Promise<boolean[]> {
    const rest = deaths.flatMap(({ storedId, diedAt }) => [storedId, diedAt]);
    return wereFound(
      await this.#run('remove-dead', partition, {
        answered: this.#keys.answered(partition, call.caller),
        sequence: call.sequence,
        rest,
      }),
    );
  }

  async trimDead(partition: Partition, { maxAge = -1, maxCount = -1 }: RetentionLimits): Promise<number | undefined> {
    const [, nextAt] = await this.#run('trim-dead', partition, { max_age: maxAge, max_count: maxCount });
    return timeOrNone(nextAt);
  }

  async trimFinished(partition: Partition): Promise<number | undefined> {
    const [, nextAt] = await this.#run('trim-finished', partition, {});
    return timeOrNone(nextAt);
  }

  #run<N extends ScriptName>(
    name: N,
    partition: Partition,
    given: Given<N, PartitionKeys>,
    adds?: boolean,
  ): Promise<Reply> {
    return this.#calls.run(name, this.#keys.partition(partition), given, adds);
  }
}
