import type {
  AdminStore,
  ClearResult,
  EditResult,
  EnvelopeEdit,
  PeekRequest,
  PeekedMessages,
} from '../admin-store.interface.js';
import { decodeFailureRecord } from '../../messages/failure-record.js';
import type { CallId, Partition, RescheduleResult, StoredMessage } from '../broker.interface.js';
import type { RedisConnection } from './redis-connection.js';
import { rescheduleResult, toScore } from './replies.js';
import type { RedisKeys } from './redis-keys.js';
import type { Reply, ScriptRunner } from './script-runner.js';

/** Most topics that one call answers. */
const TOPICS_PER_CALL = 1000;

const FIELDS_PER_PEEKED_MESSAGE = 6;
const EDIT_RESULT = ['not-waiting', 'edited', 'changed'] as const;

/** Names keys and arguments of a script for each method, as `RedisBroker` does for those that deliver. */
export class RedisAdminStore implements AdminStore {
  readonly #connection: RedisConnection;
  readonly #scripts: ScriptRunner;
  readonly #keys: RedisKeys;

  constructor(connection: RedisConnection, scripts: ScriptRunner, keys: RedisKeys) {
    this.#connection = connection;
    this.#scripts = scripts;
    this.#keys = keys;
  }

  async topics(): Promise<string[]> {
    const all: string[] = [];
    let page: string[];
    do {
      const last = all.at(-1);
      page = await this.#topicsAfter(last === undefined ? '-' : `(${last}`);
      all.push(...page);
    } while (page.length === TOPICS_PER_CALL);
    return all;
  }

  async peek(partition: Partition, { state, after, limit, maxBytes }: PeekRequest): Promise<PeekedMessages> {
    const k = this.#keys.partition(partition);
    const stored = state === 'due' ? 'scheduled' : state;
    const set = { scheduled: k.scheduled, 'in-flight': k.inflight, dead: k.dead }[stored];
    const which = state === 'due' || state === 'dead' ? state : 'all';
    const args = [limit, which, maxBytes, ...(after ? [after.at, after.storedId] : [])];
    const keys = [set, k.messages, k.deliveries, k.errors, k.keyed];
    return peekedMessages(stored, await this.#scripts.run('peek', keys, args));
  }

  async runNow(partition: Partition, call: CallId, storedId: string): Promise<RescheduleResult> {
    const k = this.#keys.partition(partition);
    const keys = [k.scheduled, k.inflight, k.messages, k.deliveries, this.#keys.answered(partition, call.caller)];
    const args = [this.#connection.publishCommand, k.channel, call.sequence, storedId, '+0', 'earlier'];
    return rescheduleResult(await this.#scripts.run('reschedule', keys, args));
  }

  async edit(partition: Partition, call: CallId, edit: EnvelopeEdit): Promise<EditResult> {
    const k = this.#keys.partition(partition);
    const keys = [k.scheduled, k.messages, k.meta, this.#keys.answered(partition, call.caller)];
    const args = [call.sequence, edit.storedId, edit.expected, edit.envelope];
    const [result] = await this.#scripts.run('edit', keys, args);
    return EDIT_RESULT[result as 0 | 1 | 2];
  }

  async clear(partition: Partition, call: CallId, state: 'scheduled' | 'dead'): Promise<ClearResult> {
    const k = this.#keys.partition(partition);
    const answered = this.#keys.answered(partition, call.caller);
    const keys = [k[state], k.messages, k.deliveries, k.errors, k.keyed, k.meta, answered];
    const args = [call.sequence, state === 'scheduled' ? 'cancelled' : ''];
    const [removed, more] = await this.#scripts.run('clear', keys, args);
    return { removed: removed as number, more: more === 1 };
  }

  async pause(partition: Partition): Promise<void> {
    await this.#scripts.run('pause', [this.#keys.partition(partition).meta], []);
  }

  async resume(partition: Partition): Promise<void> {
    const { meta, channel } = this.#keys.partition(partition);
    await this.#scripts.run('resume', [meta], [this.#connection.publishCommand, channel]);
  }

  async #topicsAfter(min: string): Promise<string[]> {
    return this.#connection.send((redis) =>
      redis.zrangebylex(this.#keys.topics(), min, '+', 'LIMIT', 0, TOPICS_PER_CALL),
    );
  }
}

function peekedMessages(state: StoredMessage['state'], [more, ...fields]: Reply): PeekedMessages {
  const messages: StoredMessage[] = [];
  let last: PeekedMessages['next'];
  for (let i = 0; i < fields.length; i += FIELDS_PER_PEEKED_MESSAGE) {
    const [storedId, at, envelope, deliveries, attempts, record] = fields.slice(i, i + FIELDS_PER_PEEKED_MESSAGE);
    last = { storedId: storedId as string, at: toScore(at) };
    if (typeof envelope !== 'string') continue;
    const failures = decodeFailureRecord(record as string);
    messages.push({
      ...last,
      state,
      envelope,
      deliveries: deliveries as number,
      attempts: attempts as number,
      failure: failures?.failure,
      history: failures?.history ?? [],
    });
  }
  return { messages, next: more === 1 ? last : undefined };
}
