import { randomBytes } from 'node:crypto';
import { MAX_PARTITIONS } from '../../checks/limits.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { isName } from '../../messages/topic.js';
import { FleetFields } from '../calls/fleet-fields.js';
import { FIELDS_PER_CALL, fieldsOf, pagesOf, scanFields } from '../calls/hash-fields.js';
import { NumberedCalls } from '../calls/numbered-calls.js';
import type { Driver } from '../driver.interface.js';
import type { StoreKeys } from '../keys.js';
import type { Partition } from '../partition.js';
import { isFull } from '../redis-error-codes.js';
import type { StoreOptions } from '../store-options.interface.js';
import { type Owner, released } from './owner.js';
import {
  type AcquireResult,
  type FleetLook,
  type Heartbeat,
  type SessionRecord,
  type TopicList,
  decodeSessions,
  decodeTopics,
  encodeLeftSession,
  encodeSession,
} from './sessions.js';
import { type FleetSignal, encodeSessionSignal } from './signals.js';
import {
  MAX_PROTOCOL,
  PROTOCOL_BEFORE,
  PROTOCOL_VERSION,
  type TopicConfig,
  type TopicOrder,
  type TopicTerms,
  decodeTopicConfig,
  encodeLimits,
  encodeTopicConfig,
  isSpoken,
  topicConfigOf,
} from './topic-config.js';
import { encodeHandling } from './topic-handling.js';

/** Fields of the config of a topic, in the order in which `topicConfigOf` takes them. */
const CONFIG_FIELDS = ['partitions', 'protocol', 'order', 'limits', 'handling'] as const;

/** Field among the sessions, which have colons in their names: the heartbeat reads it with them. */
const MARK = 'mark';

const MARK_BYTES = 9;

/** Operations on topics, sessions and owners. */
export class FleetStore {
  readonly #driver: Driver;
  readonly #keys: StoreKeys;
  readonly #numbered = new NumberedCalls();
  readonly #fields: FleetFields;

  constructor(options: StoreOptions) {
    this.#driver = options.driver;
    this.#keys = options.keys;
    this.#fields = new FleetFields(options);
  }

  /** Returns all topics that were ever used, in the order of their bytes. */
  async topics(): Promise<string[]> {
    const fields = await scanFields(this.#driver, this.#keys.fleet.topics, '*');
    return [...fields.keys()].filter(isName).toSorted();
  }

  /**
   * Fixes the number of partitions of a topic, and its order, at its first use, and returns the stored config. It is stored twice:
   * if one copy is missing, it is written again from the other.
   *
   * @param partitions wanted if the topic is new
   * @param order wanted then
   * @param terms wanted then
   * @param protocol wanted then; a topic that speaks the one before is raised to {@link PROTOCOL_VERSION}, and none is lowered.
   * @defaultValue what all sessions that have not left speak, and no topic is raised
   */
  async configure(
    topic: string,
    partitions: number,
    order?: TopicOrder,
    terms: TopicTerms = {},
    protocol?: number,
  ): Promise<TopicConfig> {
    let copyText: string | null;
    try {
      copyText = await this.#secondCopy(topic);
    } catch (error) {
      // The config stored with the topic counts even without a copy, such as while the slot of the fleet is away.
      const known = await this.#storedConfig(topic).catch(() => undefined);
      if (known) return known;
      throw error;
    }
    const copy = decodeTopicConfig(copyText);
    const isKnown = copy !== undefined && isSpoken(copy.protocol);
    const least = Math.max(protocol ?? 0, isKnown ? copy.protocol : 0) || (await this.#spokenByAll());
    const { limits, handling } = isKnown && (copy.limits ?? copy.handling) ? copy : terms;
    const reply = await this.#driver.run('configure', this.#keys.topic(topic), {
      partitions: isKnown ? copy.partitions : partitions,
      max_partitions: MAX_PARTITIONS,
      protocol: least,
      raised: (isKnown || protocol) && least === PROTOCOL_VERSION ? PROTOCOL_BEFORE : '',
      max_protocol: MAX_PROTOCOL,
      order: (isKnown ? copy.order : order) ?? '',
      limits: encodeLimits(limits),
      handling: encodeHandling(handling),
      is_known: isKnown ? 1 : 0,
    });
    const config = topicConfigOf(reply) ?? this.#refuseConfig(topic, reply);
    await this.#copyConfig(topic, config, copyText);
    return config;
  }

  /** Stores other terms with a topic; without limits it has none. */
  async setTerms(topic: string, { limits, handling }: TopicTerms): Promise<void> {
    const call = this.#numbered.next((caller) => this.#keys.answeredOfTopic(topic, caller));
    const given = { ...call, limits: encodeLimits(limits), handling: encodeHandling(handling) };
    await this.#driver.run('set-terms', this.#keys.topic(topic), given);
    const copyText = await this.#secondCopy(topic);
    await this.#copyConfig(topic, await this.#storedConfig(topic), copyText);
  }

  /** Returns the stored config of a topic; `undefined` if it was never used. */
  async configOf(topic: string): Promise<TopicConfig | undefined> {
    const { config } = this.#keys.topic(topic);
    const stored = await this.#driver.call([config], (redis) => redis.hmget(config, ...CONFIG_FIELDS));
    const known = topicConfigOf(stored) ?? decodeTopicConfig(await this.#secondCopy(topic));
    if (known || stored.every((field) => field === null)) return known;
    return this.#refuseConfig(topic, stored);
  }

  /** Returns the same for many topics, in their order, in calls of up to 1,000. It does not check that both copies are there. */
  async configsOf(topics: readonly string[]): Promise<(TopicConfig | undefined)[]> {
    const stored = await fieldsOf(this.#driver, this.#keys.fleet.topics, topics);
    return stored.map(decodeTopicConfig);
  }

  /** Says that this process lives, and reads which others do: two plain commands, which are the whole cost of an idle process. */
  async heartbeat(heartbeat: Heartbeat): Promise<FleetLook> {
    const { sessions } = this.#keys.fleet;
    const record = encodeSession(heartbeat, this.#now);
    try {
      const [added, fields] = await this.#driver.call([sessions], (redis) =>
        Promise.all([redis.hset(sessions, heartbeat.session, record), redis.hgetall(sessions)]),
      );
      return { isNew: added === 1, mark: fields[MARK] ?? (await this.#setMark()), sessions: decodeSessions(fields) };
    } catch (error) {
      if (!isFull(error)) throw error;
      const isNew = await this.#setField(sessions, heartbeat.session, record);
      return { isNew, mark: undefined, sessions: await this.sessions() };
    }
  }

  /** The first of several processes decides. */
  async #setMark(): Promise<string | undefined> {
    const { sessions } = this.#keys.fleet;
    const mark = randomBytes(MARK_BYTES).toString('base64url');
    const [, stored] = await this.#driver.call([sessions], (redis) =>
      Promise.all([redis.hsetnx(sessions, MARK, mark), redis.hget(sessions, MARK)]),
    );
    return stored ?? undefined;
  }

  /**
   * Marks a session as left, unless it was renewed after this heartbeat; it is shown as left until a process
   * forgets it.
   */
  async leave(heartbeat: Heartbeat): Promise<void> {
    const { session, count } = heartbeat;
    const left_record = encodeLeftSession(heartbeat, this.#now);
    await this.#driver.run('leave', this.#keys.fleet, { session, count, left_record });
  }

  /** Removes sessions that have left or ended, and topic lists that no session names any more. */
  async forget(sessions: readonly string[]): Promise<void> {
    for (const rest of pagesOf(sessions, FIELDS_PER_CALL)) {
      const call = this.#numbered.next((caller) => this.#keys.answeredOfFleet(caller));
      await this.#driver.run('forget-sessions', this.#keys.fleet, { ...call, rest });
    }
  }

  /** Returns all sessions, for callers that look once; sorted by name. */
  async sessions(): Promise<SessionRecord[]> {
    const { sessions } = this.#keys.fleet;
    return decodeSessions(await this.#driver.call([sessions], (redis) => redis.hgetall(sessions)));
  }

  /** Which of them live is not known here: one that stands still counts. */
  async #spokenByAll(): Promise<number> {
    const sessions = await this.sessions();
    return sessions.every(({ left, protocol = PROTOCOL_BEFORE }) => left || protocol >= PROTOCOL_VERSION)
      ? PROTOCOL_VERSION
      : PROTOCOL_BEFORE;
  }

  async rememberTopics({ digest, topics }: TopicList): Promise<void> {
    await this.#setField(this.#keys.fleet.handled, digest, JSON.stringify(topics));
  }

  /** Returns the lists of topics under these digests, in their order; `undefined` for those that are not there. */
  async rememberedTopics(digests: readonly string[]): Promise<(readonly string[] | undefined)[]> {
    const stored = await fieldsOf(this.#driver, this.#keys.fleet.handled, digests);
    return stored.map(decodeTopics);
  }

  /** Sends a signal to one session, or to all. */
  async tell({ to, signal }: FleetSignal): Promise<void> {
    const channel = to === undefined ? this.#keys.fleet.channel : this.#keys.sessionChannel(to);
    await this.#driver.publish(channel, encodeSessionSignal(signal));
  }

  /**
   * Makes `owner` the owner of a partition, if its stored owner is exactly `replaces`; answers the repeat of a successful call
   * like that call.
   *
   * @param replaces `undefined` if nothing is to be stored
   */
  async acquire(partition: Partition, owner: Owner, replaces: Owner | undefined): Promise<AcquireResult> {
    const given = { new_owner: owner, replaces: replaces ?? '', is_first: replaces === undefined ? 1 : 0 };
    const [acquired, stored] = await this.#driver.run('acquire', this.#keys.partition(partition), given);
    return acquired === 1 ? { acquired: true } : { acquired: false, owner: stored as string | undefined };
  }

  /** Gives a partition up, if its stored owner is exactly this one. The epoch stays. */
  async release(partition: Partition, owner: Owner): Promise<void> {
    const given = { given_up: owner, epoch: released(owner) };
    await this.#driver.run('release', this.#keys.partition(partition), given);
  }

  /** Time on the clock that heartbeats go by, epoch milliseconds. */
  get #now(): number {
    return this.#driver.now(this.#keys.fleet.sessions);
  }

  async #storedConfig(topic: string): Promise<TopicConfig | undefined> {
    const { config } = this.#keys.topic(topic);
    return topicConfigOf(await this.#driver.call([config], (redis) => redis.hmget(config, ...CONFIG_FIELDS)));
  }

  async #secondCopy(topic: string): Promise<string | null> {
    const { topics } = this.#keys.fleet;
    return this.#driver.call([topics], (redis) => redis.hget(topics, topic));
  }

  /**
   * Writes the second copy. If another process has written it since, perhaps from a later config, the stored config is read again.
   *
   * @param seen the second copy as it was before `config` was read
   */
  async #copyConfig(topic: string, config: TopicConfig | undefined, seen: string | null): Promise<void> {
    const text = config && encodeTopicConfig(config);
    if (text === undefined || text === seen) return;
    const copied = await this.#fields.replace(this.#keys.fleet.topics, { field: topic, value: text, seen });
    if (copied.isSet) return;
    await this.#copyConfig(topic, await this.#storedConfig(topic), copied.stored);
  }

  /** Sets a field, and returns whether it is new. */
  async #setField(record: string, field: string, value: string): Promise<boolean> {
    const [added] = await this.#driver.run('set-field', { record }, { field, value });
    return added === 1;
  }

  /** @throws BrokerUnavailableError always */
  #refuseConfig(topic: string, [partitions, protocol, order]: readonly unknown[]): never {
    const { config } = this.#keys.topic(topic);
    throw new BrokerUnavailableError(
      `Another program has damaged what is stored of topic '${topic}' in Redis at ${this.#driver.address}: ${config} holds ` +
        `partitions ${shown(partitions)} (allowed: 1 to ${MAX_PARTITIONS}), protocol ${shown(protocol)} and order ${shown(order)} ` +
        `(allowed: continue, block or none), and the copy in ${this.#keys.fleet.topics} is gone as well. Set what the topic had: ` +
        `HSET ${config} partitions <number> protocol ${PROTOCOL_VERSION}, and HDEL ${config} order, or HSET ${config} order <order> ` +
        `if it was ordered`,
      { transient: false, refused: true },
    );
  }
}

function shown(field: unknown): string {
  return typeof field === 'string' ? `'${field.slice(0, 100)}'` : 'nothing';
}
