import { decodeFailureRecord } from '../../messages/failure-record.js';
import { assertLength } from '../assert-times.js';
import type { CallId, Partition } from '../broker.interface.js';
import type {
  DeadLetterPage,
  DeadLetterQuery,
  DeadLetterStore,
  Death,
  ListedDeadLetter,
  Requeue,
} from '../dead-letter-store.interface.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';
import { toScore } from './replies.js';
import type { Reply, ScriptRunner } from './script-runner.js';

const FIELDS_PER_DEAD_LETTER = 3;

/** Dead letters in Redis. */
export class RedisDeadLetterStore implements DeadLetterStore {
  readonly #connection: RedisConnection;
  readonly #scripts: ScriptRunner;
  readonly #keys: RedisKeys;

  constructor(connection: RedisConnection, scripts: ScriptRunner, keys: RedisKeys) {
    this.#connection = connection;
    this.#scripts = scripts;
    this.#keys = keys;
  }

  async listDead(partition: Partition, query: DeadLetterQuery): Promise<DeadLetterPage> {
    const { after, since = -Infinity, until = -1, limit, withFailures } = query;
    const k = this.#keys.partition(partition);
    const keys = [k.dead, k.errors, k.messages, k.deliveries, k.keyed];
    const args = [limit, since, until, withFailures ? 1 : 0, ...(after ? [after.diedAt, after.storedId] : [])];
    return deadLetterPage(await this.#scripts.run('list-dead', keys, args));
  }

  async requeueDead(partition: Partition, call: CallId, deaths: readonly Requeue[], delay: number): Promise<boolean[]> {
    assertLength('The delay', delay);
    const k = this.#keys.partition(partition);
    const answered = this.#keys.answered(partition, call.caller);
    const keys = [k.scheduled, k.messages, k.deliveries, k.dead, k.errors, k.keyed, k.meta, answered];
    const args: (string | number)[] = [this.#connection.publishCommand, k.channel, call.sequence, delay];
    for (const { storedId, diedAt, envelope = '' } of deaths) args.push(storedId, diedAt, envelope);
    return wereFound(await this.#scripts.run('requeue-dead', keys, args));
  }

  async removeDead(partition: Partition, call: CallId, deaths: readonly Death[]): Promise<boolean[]> {
    const k = this.#keys.partition(partition);
    const keys = [k.dead, k.messages, k.deliveries, k.errors, k.keyed, this.#keys.answered(partition, call.caller)];
    const args: (string | number)[] = [call.sequence];
    for (const { storedId, diedAt } of deaths) args.push(storedId, diedAt);
    return wereFound(await this.#scripts.run('remove-dead', keys, args));
  }
}

function deadLetterPage([now, more, ...fields]: Reply): DeadLetterPage {
  const letters: ListedDeadLetter[] = [];
  for (let i = 0; i < fields.length; i += FIELDS_PER_DEAD_LETTER) {
    letters.push({
      storedId: fields[i] as string,
      diedAt: toScore(fields[i + 1]),
      failure: decodeFailureRecord(fields[i + 2] as string)?.failure,
    });
  }
  return { letters, next: more === 1 ? letters.at(-1) : undefined, now: now as number };
}

function wereFound([digits]: Reply): boolean[] {
  return Array.from(String(digits), (digit) => digit === '1');
}
