import type { Clock } from '../../time/clock.js';
import type { Log } from '../../log.js';
import { ConfigurationError } from '../../errors/configuration.error.js';
import { encodeFailureRecord } from '../../messages/failure-record.js';
import type { Failure } from '../../messages/failure.js';
import { toStoredId } from '../../messages/stored-id.js';
import type {
  AcquireResult,
  ClearResult,
  DeadLetterPage,
  DeadLetterQuery,
  Death,
  EditResult,
  EnvelopeEdit,
  PeekRequest,
  PeekedMessages,
  Requeue,
  Broker,
  CallId,
  CancelResult,
  ClaimRequest,
  ClaimResult,
  DueTime,
  ExtendStatus,
  Member,
  NewMessage,
  Partition,
  PartitionSignal,
  PartitionStats,
  PublishResult,
  Receipt,
  RenewResult,
  RescheduleResult,
  SettleStatus,
  Settlement,
  StoredMessage,
  TopicConfig,
  Unsubscribe,
} from '../broker.interface.js';
import { MAX_BATCH, PROTOCOL_VERSION } from '../broker.interface.js';
import { assertDelays, assertDue, assertDues, assertLength } from '../assert-times.js';
import { ServerClock } from '../server-clock.js';
import { decodeSignal } from './partition-signal.js';
import { encodeDueTime, encodeMessages } from './publish-arguments.js';
import type { IoRedis, RedisClient } from './redis-clients.js';
import { RedisConnection } from './redis-connection.js';
import { RedisEventLog } from './redis-event-log.js';
import { RedisKeys } from './redis-keys.js';
import { RedisLink } from './redis-link.js';
import type { RedisSettings } from './redis-settings.js';
import * as replies from './replies.js';
import { type ScriptObserver, ScriptRunner } from './script-runner.js';
import { warnOfClockOffset, warnOfLosses } from './server-checks.js';
import { SignalSubscriber } from './signal-subscriber.js';
import { encodeSettlements } from './settlement-arguments.js';

/** Most topics that one call answers. */
const TOPICS_PER_CALL = 1000;

export interface RedisBrokerOptions {
  readonly ioredis: IoRedis;
  readonly redis: RedisSettings;
  readonly prefix: string;
  /** Longest time to wait for the first connection, in milliseconds. */
  readonly connectTimeout: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly onScript?: ScriptObserver | undefined;
}

/** Keeps messages in Redis. Each method names keys and arguments of a script; what it does is in `lua/`. */
export class RedisBroker implements Broker {
  readonly link: RedisLink;
  readonly eventLog: RedisEventLog;
  readonly #connection: RedisConnection;
  readonly #serverClock: ServerClock;
  readonly #scripts: ScriptRunner;
  readonly #subscriber: SignalSubscriber;
  readonly #keys: RedisKeys;
  readonly #log: Log;

  constructor({ ioredis, redis, prefix, connectTimeout, clock, log, onScript }: RedisBrokerOptions) {
    this.#connection = new RedisConnection(ioredis, redis, log, connectTimeout);
    this.#serverClock = new ServerClock(clock);
    this.#scripts = new ScriptRunner({
      connection: this.#connection,
      clock,
      serverClock: this.#serverClock,
      log,
      onScript,
    });
    this.#subscriber = new SignalSubscriber({ connection: this.#connection, clock, log });
    this.link = new RedisLink({
      connection: this.#connection,
      subscriber: this.#subscriber,
      clock,
      serverClock: this.#serverClock,
    });
    this.#keys = new RedisKeys(prefix);
    this.eventLog = new RedisEventLog(this.#connection, this.#scripts, this.#keys.events());
    this.#log = log;
  }

  /** The connection that commands go through. */
  get client(): RedisClient {
    return this.#connection.commands;
  }

  now(): number {
    return this.#serverClock.now();
  }

  async connect(): Promise<void> {
    await this.#connection.connect();
    const { commands, address } = this.#connection;
    await this.#assertPermissions();
    await warnOfLosses(commands, address, this.#log);
    // So that the first timers and time stamps are right already.
    await this.link.ping();
    warnOfClockOffset(this.#serverClock.now() - Date.now(), address, this.#log);
    this.#log.log(`Connected to Redis at ${address}`);
    this.eventLog.start();
  }

  async close(): Promise<void> {
    await this.eventLog.stop();
    this.#subscriber.close();
    this.#connection.close();
  }

  async publish(partition: Partition, call: CallId, messages: readonly NewMessage[]): Promise<PublishResult[]> {
    assertDues(messages);
    const k = this.#keys.partition(partition);
    const args: (string | number)[] = [this.#connection.publishCommand, k.channel, call.sequence];
    encodeMessages(messages, args);
    const answered = this.#keys.answered(partition, call.caller);
    const keys = [k.scheduled, k.inflight, k.messages, k.deliveries, k.dead, k.errors, k.keyed, k.meta, answered];
    return replies.publishResults(await this.#scripts.run('publish', keys, args), messages);
  }

  async cancel(partition: Partition, call: CallId, storedId: string): Promise<CancelResult> {
    const k = this.#keys.partition(partition);
    const answered = this.#keys.answered(partition, call.caller);
    const keys = [k.scheduled, k.inflight, k.messages, k.deliveries, k.errors, k.keyed, k.meta, answered];
    const args = [this.#connection.publishCommand, k.channel, call.sequence, storedId];
    return replies.cancelResult(await this.#scripts.run('cancel', keys, args));
  }

  async reschedule(partition: Partition, call: CallId, storedId: string, due: DueTime): Promise<RescheduleResult> {
    assertDue(due);
    const k = this.#keys.partition(partition);
    const keys = [k.scheduled, k.inflight, k.messages, k.deliveries, this.#keys.answered(partition, call.caller)];
    const args = [this.#connection.publishCommand, k.channel, call.sequence, storedId, encodeDueTime(due)];
    return replies.rescheduleResult(await this.#scripts.run('reschedule', keys, args));
  }

  async locate(partition: Partition, id: string): Promise<string[]> {
    const { keyed } = this.#keys.partition(partition);
    const name = toStoredId(id);
    return this.#command([keyed], (redis) =>
      redis.zrangebylex(keyed, `[${name}\0`, `(${name}\x01`, 'LIMIT', 0, MAX_BATCH),
    );
  }

  async claim(partition: Partition, { member, max, lease, knownToken }: ClaimRequest): Promise<ClaimResult> {
    assertLength('The lease', lease);
    const k = this.#keys.partition(partition);
    const keys = [k.scheduled, k.inflight, k.messages, k.deliveries, k.errors, k.keyed, k.owner, k.meta];
    return replies.claimResult(await this.#scripts.run('claim', keys, [member, max, lease, knownToken]));
  }

  async settle(partition: Partition, call: CallId, settlements: readonly Settlement[]): Promise<SettleStatus[]> {
    assertDelays(settlements);
    const k = this.#keys.partition(partition);
    const answered = this.#keys.answered(partition, call.caller);
    const keys = [k.scheduled, k.inflight, k.messages, k.deliveries, k.dead, k.errors, k.keyed, k.meta, answered];
    const args: (string | number)[] = [this.#connection.publishCommand, k.channel, call.sequence];
    encodeSettlements(settlements, args);
    return replies.settleStatuses(await this.#scripts.run('settle', keys, args));
  }

  async extend(partition: Partition, lease: number, receipts: readonly Receipt[]): Promise<ExtendStatus[]> {
    assertLength('The lease', lease);
    const k = this.#keys.partition(partition);
    const args: (string | number)[] = [lease];
    for (const { storedId, token } of receipts) args.push(storedId, token);
    return replies.extendStatuses(await this.#scripts.run('extend', [k.inflight, k.deliveries], args));
  }

  async setAside(partition: Partition, { storedId, token }: Receipt, failure: Failure): Promise<string | undefined> {
    const k = this.#keys.partition(partition);
    const keys = [k.scheduled, k.inflight, k.messages, k.deliveries, k.dead, k.errors, k.keyed, k.meta];
    const args = [storedId, token, encodeFailureRecord(failure, undefined)];
    const [isAside, id] = await this.#scripts.run('set-aside', keys, args);
    return isAside === 1 ? (id as string) : undefined;
  }

  async get(partition: Partition, storedId: string): Promise<StoredMessage | undefined> {
    const k = this.#keys.partition(partition);
    const keys = [k.scheduled, k.inflight, k.messages, k.deliveries, k.dead, k.errors];
    return replies.storedMessage(storedId, await this.#scripts.run('get', keys, [storedId]));
  }

  async stats(partition: Partition): Promise<PartitionStats> {
    const k = this.#keys.partition(partition);
    return replies.partitionStats(
      await this.#scripts.run('stats', [k.scheduled, k.inflight, k.dead, k.owner, k.meta], []),
    );
  }

  async trimDead(
    partition: Partition,
    { maxAge = -1, maxCount = -1 }: { maxAge?: number | undefined; maxCount?: number | undefined },
  ): Promise<number | undefined> {
    const k = this.#keys.partition(partition);
    const keys = [k.dead, k.messages, k.deliveries, k.errors, k.keyed];
    const [, nextAt] = await this.#scripts.run('trim-dead', keys, [maxAge, maxCount]);
    return replies.timeOrNone(nextAt);
  }

  async configure(topic: string, partitions: number): Promise<TopicConfig> {
    const reply = await this.#scripts.run('configure', [this.#keys.config(topic)], [partitions, PROTOCOL_VERSION]);
    await this.#scripts.run('note-topic', [this.#keys.topics()], [topic]);
    return { partitions: Number(reply[0]), protocol: Number(reply[1]) };
  }

  async configOf(topic: string): Promise<TopicConfig | undefined> {
    const config = this.#keys.config(topic);
    const [partitions, protocol] = await this.#command([config], (redis) =>
      redis.hmget(config, 'partitions', 'protocol'),
    );
    return partitions ? { partitions: Number(partitions), protocol: Number(protocol) } : undefined;
  }

  async join(topic: string, member: string, session: number, holdings: readonly number[]): Promise<Member[]> {
    const keys = [this.#keys.members(topic), this.#keys.holdings(topic)];
    const args = [
      this.#connection.publishCommand,
      this.#keys.membersChannel(topic),
      member,
      session,
      holdings.join(','),
    ];
    return replies.members(await this.#scripts.run('join', keys, args));
  }

  async leave(topic: string, member: string): Promise<void> {
    const keys = [this.#keys.members(topic), this.#keys.holdings(topic)];
    await this.#scripts.run('leave', keys, [this.#connection.publishCommand, this.#keys.membersChannel(topic), member]);
  }

  async hasMembers(topic: string): Promise<boolean> {
    const members = this.#keys.members(topic);
    const [, latestEnd] = await this.#command([members], (redis) =>
      redis.zrange(members, '0', '0', 'REV', 'WITHSCORES'),
    );
    return latestEnd !== undefined && Number(latestEnd) > this.now();
  }

  async acquire(partition: Partition, member: string, session: number): Promise<AcquireResult> {
    const k = this.#keys.partition(partition);
    const [acquired, value] = await this.#scripts.run('acquire', [k.owner, k.meta], [member, session]);
    return acquired === 1 ? { acquired: true, token: Number(value) } : { acquired: false, retryAt: Number(value) };
  }

  async renew(partition: Partition, member: string, session: number): Promise<RenewResult> {
    // Two plain commands instead of a script, since this is all that an idle partition costs.
    const k = this.#keys.partition(partition);
    const [owner, head] = await this.#command([k.owner, k.scheduled], (redis) =>
      Promise.all([redis.getex(k.owner, 'PX', session), redis.zrange(k.scheduled, '0', '0', 'WITHSCORES')]),
    );
    return { owned: owner === member, nextDueAt: head[1] === undefined ? undefined : replies.toScore(head[1]) };
  }

  async release(partition: Partition, member: string): Promise<void> {
    await this.#scripts.run('release', [this.#keys.partition(partition).owner], [member]);
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
    return replies.peekedMessages(stored, await this.#scripts.run('peek', keys, args));
  }

  async runNow(partition: Partition, call: CallId, storedId: string): Promise<RescheduleResult> {
    const k = this.#keys.partition(partition);
    const keys = [k.scheduled, k.inflight, k.messages, k.deliveries, this.#keys.answered(partition, call.caller)];
    const args = [this.#connection.publishCommand, k.channel, call.sequence, storedId, '+0', 'earlier'];
    return replies.rescheduleResult(await this.#scripts.run('reschedule', keys, args));
  }

  async edit(partition: Partition, call: CallId, edit: EnvelopeEdit): Promise<EditResult> {
    const k = this.#keys.partition(partition);
    const keys = [k.scheduled, k.messages, k.meta, this.#keys.answered(partition, call.caller)];
    const args = [call.sequence, edit.storedId, edit.expected, edit.envelope];
    const [result] = await this.#scripts.run('edit', keys, args);
    return replies.EDIT_RESULT[result as 0 | 1 | 2];
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

  async listDead(partition: Partition, query: DeadLetterQuery): Promise<DeadLetterPage> {
    const { after, since = -Infinity, until = -1, limit, withFailures } = query;
    const k = this.#keys.partition(partition);
    const keys = [k.dead, k.errors, k.messages, k.deliveries, k.keyed];
    const args = [limit, since, until, withFailures ? 1 : 0, ...(after ? [after.diedAt, after.storedId] : [])];
    return replies.deadLetterPage(await this.#scripts.run('list-dead', keys, args));
  }

  async requeueDead(partition: Partition, call: CallId, deaths: readonly Requeue[], delay: number): Promise<boolean[]> {
    assertLength('The delay', delay);
    const k = this.#keys.partition(partition);
    const answered = this.#keys.answered(partition, call.caller);
    const keys = [k.scheduled, k.messages, k.deliveries, k.dead, k.errors, k.keyed, k.meta, answered];
    const args: (string | number)[] = [this.#connection.publishCommand, k.channel, call.sequence, delay];
    for (const { storedId, diedAt, envelope = '' } of deaths) args.push(storedId, diedAt, envelope);
    return replies.wereFound(await this.#scripts.run('requeue-dead', keys, args));
  }

  async removeDead(partition: Partition, call: CallId, deaths: readonly Death[]): Promise<boolean[]> {
    const k = this.#keys.partition(partition);
    const keys = [k.dead, k.messages, k.deliveries, k.errors, k.keyed, this.#keys.answered(partition, call.caller)];
    const args: (string | number)[] = [call.sequence];
    for (const { storedId, diedAt } of deaths) args.push(storedId, diedAt);
    return replies.wereFound(await this.#scripts.run('remove-dead', keys, args));
  }

  watchPartition(
    partition: Partition,
    listener: (signal: PartitionSignal) => void,
    onListening?: () => void,
  ): Unsubscribe {
    const onMessage = (message: string): void => {
      const signal = decodeSignal(message);
      if (signal) listener(signal);
    };
    return this.#subscriber.subscribe(this.#keys.partition(partition).channel, onMessage, onListening);
  }

  watchMembers(topic: string, listener: () => void, onListening?: () => void): Unsubscribe {
    return this.#subscriber.subscribe(this.#keys.membersChannel(topic), listener, onListening);
  }

  onAvailable(listener: () => void): () => void {
    const { commands } = this.#connection;
    commands.on('ready', listener);
    return () => commands.off('ready', listener);
  }

  onError(listener: (error: Error) => void): () => void {
    return this.#connection.onError(listener);
  }

  /** A command that is denied in the middle of a script would leave half of its work done. */
  async #assertPermissions(): Promise<void> {
    const key = this.#keys.probe();
    const denied = await this.#scripts.run('probe', [key], [this.#connection.publishCommand, key]);
    if (denied.length === 0) return;
    throw new ConfigurationError(
      `The user of Redis at ${this.#connection.address} may not do all that is needed; allow it, as docs/redis-keys.md ` +
        `says. Denied: ${denied.join('; ')}`,
    );
  }

  async #command<T>(keys: readonly string[], send: (redis: RedisClient) => Promise<T>): Promise<T> {
    return this.#scripts.mending(keys, () => this.#connection.send(send));
  }
}
