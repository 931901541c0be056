import { randomUUID } from 'node:crypto';
import type { Broker, IndexedSchedule, Partition } from '../broker/broker.interface.js';
import { type CallNames, callsOf, repeatableCallsOf } from '../broker/call-names.js';
import { serveWithin } from '../broker/serve.js';
import { describe } from '../checks/describe.js';
import { assertInteger } from '../checks/validate.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { type ActionOptions, type AuditLog, type AuditedAction, actorOf } from '../events/audit-log.js';
import type { EventSink } from '../events/queue-events.interface.js';
import { type FleetStore, handledTopics } from '../fleet/live-sessions.js';
import { withTime } from '../messages/envelope.js';
import { partitionOf } from '../messages/partitioner.js';
import { assertPayload } from '../messages/payload-schema.js';
import type { PublishedPayload, TopicName } from '../messages/payload-types.js';
import type { PublishedMessage } from '../messages/publish-options.interface.js';
import { tagsOf } from '../messages/readable-part.js';
import { toStoredId } from '../messages/stored-id.js';
import { type Topic, schemaOf } from '../messages/topic.js';
import { shareClass } from '../package-copies.js';
import type { Clock } from '../time/clock.js';
import { toDate } from '../time/date.js';
import { ChangeLane } from '../topics/change-lane.js';
import { Lanes } from '../topics/lanes.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import { type CheckedSchedule, type GivenSchedule, assertScheduleId, checkSchedule } from './check-schedule.js';
import { extraId, extraIdOf } from './occurrence-ids.js';
import { Recurrence } from './recurrence.js';
import { type PlacedSchedule, ScheduleFinder, readable } from './schedule-finder.js';
import type { Schedule, ScheduledMessageOptions, ScheduleRule } from './schedule.interface.js';
import { anchorOf, standsStill, startedState } from './starting-state.js';
import { toSchedule } from './to-schedule.js';
import {
  type DefinedSchedule,
  type ScheduleRecord,
  type ScheduleState,
  encodeDefinition,
  encodeState,
  isSameContent,
} from './schedule-record.js';

/** How often a schedule that changes while it is being changed is looked at again. */
const MAX_TRIES = 50;

/** Most occurrences that can be asked for. */
const MOST_LISTED = 1000;

/** A schedule as it is stored now, and whether it was stored otherwise, or not at all, before. */
interface PutSchedule {
  readonly record: ScheduleRecord;
  readonly hasChanged: boolean;
}

export interface SchedulesDependencies {
  readonly store: FleetStore &
    Pick<
      Broker,
      | 'publish'
      | 'indexSchedule'
      | 'unindexSchedule'
      | 'configOf'
      | 'findSchedule'
      | 'listSchedules'
      | 'getSchedules'
      | 'putSchedule'
      | 'removeSchedule'
    >;
  readonly topics: TopicRegistry;
  readonly clock: Clock;
  readonly events: EventSink;
  readonly audit: AuditLog;
  /** Longest time for an answer, in milliseconds. */
  readonly timeout: number;
  /** The topics that this process handles. */
  readonly handled: () => ReadonlySet<string>;
}

/**
 * Schedules: rules that publish a message again and again. They are kept in Redis, and each occurrence is published once by the
 * fleet, whichever processes live.
 *
 * @example
 * ```ts
 * await schedules.upsert({ id: 'report.daily', topic: 'report', payload: { of: 'yesterday' }, cron: '0 6 * * *', timeZone: 'Europe/Berlin' });
 * await schedules.pause('report.daily');
 * ```
 *
 * @publicApi
 */
export class DelayQueueSchedules {
  static {
    shareClass('DelayQueueSchedules', this);
  }

  readonly #dependencies: SchedulesDependencies;
  readonly #finder: ScheduleFinder;
  readonly #lanes: Lanes<ChangeLane>;
  /** The ids that handlers of this process declare. */
  readonly #declared = new Set<string>();

  /** @internal */
  constructor(dependencies: SchedulesDependencies) {
    this.#dependencies = dependencies;
    this.#finder = new ScheduleFinder(dependencies);
    const caller = `${randomUUID()}:schedule`;
    this.#lanes = new Lanes((partition) => this.#laneOf(partition, callsOf(caller)));
  }

  /**
   * Stores a schedule, or gives the one with this id another rule, payload or options. What is the same already changes nothing, so
   * every process may do it whenever it boots. One that is paused stays so.
   *
   * Another rule counts from now on. With `every` and without `startAt` the intervals count from when the schedule was first stored.
   *
   * @param options given: an operator stores it, and it is written down in the audit log if it changes something
   * @throws InvalidArgumentError if something is wrong with it, or if it exists with another topic or key: remove it first
   * @throws SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was stored
   * @throws BrokerUnavailableError if it was not confirmed within `publishTimeout`
   */
  async upsert<T, N extends TopicName = TopicName>(
    schedule: ScheduleRule & {
      id: string;
      topic: Topic<T, unknown> | N;
      payload: NoInfer<PublishedPayload<T, N>>;
      options?: ScheduledMessageOptions;
    },
    options?: ActionOptions,
  ): Promise<Schedule> {
    return this.#store(schedule, false, options);
  }

  /**
   * The same for a schedule that a handler declares.
   *
   * @internal
   */
  async declare(schedule: GivenSchedule): Promise<Schedule> {
    this.#declared.add(schedule.id);
    return this.#store(schedule, true);
  }

  /**
   * @returns `undefined` if there is none with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async get(id: string): Promise<Schedule | undefined> {
    const found = await this.#finder.find(id);
    return found && this.#describe(found);
  }

  /**
   * All schedules, in the order of their ids.
   *
   * @throws BrokerUnavailableError
   */
  async list(): Promise<Schedule[]> {
    return (await this.#finder.findAll()).map((found) => this.#describe(found));
  }

  /**
   * The times of its next occurrences; of a schedule that is paused, those that it would have if it went on now.
   *
   * @param n how many, 1 to 1000; there are fewer if it ends before
   * @returns none if there is no schedule with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async next(id: string, n = 1): Promise<Date[]> {
    assertInteger('n', n, { min: 1, max: MOST_LISTED });
    const found = await this.#finder.find(id);
    if (!found) return [];
    const { rule, state } = found.record;
    const recurrence = new Recurrence(rule);
    const times: Date[] = [];
    let time = state.paused ? recurrence.from(this.#now(found.partition)) : state.next;
    for (; time !== undefined && times.length < n; time = recurrence.after(time)) times.push(toDate(time));
    return times;
  }

  /**
   * From now on it publishes nothing, until {@link resume}. What it has published stays.
   *
   * @returns whether there is a schedule with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async pause(id: string, options: ActionOptions = {}): Promise<boolean> {
    return this.#act('pauseSchedule', id, options, () =>
      this.#change(id, ({ state }) => (state.paused ? state : { ...state, paused: true, next: undefined })),
    );
  }

  /**
   * It goes on with its next occurrence. What would have occurred during the pause is not caught up.
   *
   * @returns whether there is a schedule with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async resume(id: string, options: ActionOptions = {}): Promise<boolean> {
    return this.#act('resumeSchedule', id, options, () =>
      this.#change(id, ({ rule, state }, now) => {
        const recurrence = new Recurrence(rule);
        const going = { ...state, paused: false };
        return state.paused || standsStill(recurrence, state, now) ? startedState(recurrence, going, now) : state;
      }),
    );
  }

  /**
   * Removes it. What it has published stays. A `@RecurringHandler()` that declares it stores it again at its next boot.
   *
   * @returns whether there was a schedule with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async remove(id: string, options: ActionOptions = {}): Promise<boolean> {
    return this.#act('removeSchedule', id, options, () => this.#remove(id));
  }

  /**
   * Publishes its message now, beside its occurrences, even if it is paused.
   *
   * @param options `once` names the operation: made again within two minutes, in whichever process, it publishes nothing more
   * @throws InvalidArgumentError if there is no schedule with this id
   * @throws BrokerUnavailableError if it was not confirmed within `publishTimeout`
   */
  async runNow(
    id: string,
    { once, ...options }: ActionOptions & { readonly once?: string | undefined } = {},
  ): Promise<PublishedMessage> {
    return this.#act('runScheduleNow', id, { ...options, once }, () => this.#runNow(id, once));
  }

  /**
   * Removes the schedules that a `@RecurringHandler()` once declared and that none declares any more: those of topics that this process
   * handles and does not declare, and those of topics that no process of the fleet handles. Schedules of `upsert()` stay.
   *
   * @returns the ids of those that were removed
   * @throws BrokerUnavailableError
   */
  async prune(options: ActionOptions = {}): Promise<string[]> {
    actorOf(options);
    const { store, handled } = this.#dependencies;
    const own = handled();
    const ofFleet = await this.#serve(() => handledTopics(store));
    const pruned: string[] = [];
    for (const { record, partition } of await this.#finder.findAll()) {
      if (!record.declared || this.#declared.has(record.id)) continue;
      if (!own.has(partition.topic) && ofFleet.has(partition.topic)) continue;
      if (await this.remove(record.id, options)) pruned.push(record.id);
    }
    return pruned;
  }

  #laneOf(partition: Partition, calls: CallNames): ChangeLane {
    const { clock, timeout } = this.#dependencies;
    return new ChangeLane({ clock, partition, timeout, calls });
  }

  /** Does what an operator asks for, and writes it down if there is such a schedule. */
  async #act<T>(
    action: AuditedAction,
    id: string,
    { once, ...options }: ActionOptions & { readonly once?: string | undefined },
    act: () => Promise<T>,
  ): Promise<T> {
    assertScheduleId(id);
    const actor = actorOf(options);
    const { store, audit } = this.#dependencies;
    const place = await this.#serve(() => store.findSchedule({ id }));
    if (!place) return act();
    return audit.around({ action, once, about: () => ({ topic: place.topic, actor, given: { schedule: id } }) }, act);
  }

  async #remove(id: string): Promise<boolean> {
    const { store } = this.#dependencies;
    const place = await this.#serve(() => store.findSchedule({ id }));
    if (!place) return false;
    const home = await this.#finder.homeOf(place);
    if (!home) return false;
    const entry = { id, ...place };
    const { topic, index } = home.partition;
    const lane = this.#lanes.get(topic, index);
    const removed = await lane.send((partition, call) => store.removeSchedule(partition, call, id));
    await this.#serve(() => store.unindexSchedule(entry));
    // It may have been stored again at this place meanwhile; then it is not to be missing in the list.
    const [found] = await this.#serve(() => store.getSchedules(home.partition, [id]));
    if (found) await this.#serve(() => store.indexSchedule(entry));
    return removed;
  }

  async #runNow(id: string, once: string | undefined): Promise<PublishedMessage> {
    const { store, events } = this.#dependencies;
    const found = await this.#finder.find(id);
    if (!found) throw new InvalidArgumentError(`There is no schedule '${id}'. Store it with upsert().`);
    const { partition, order, record } = found;
    const now = this.#now(partition);
    const messageId = once === undefined ? extraId(id, now) : extraIdOf(id, once);
    const storedId = toStoredId(messageId, record.key);
    const message = {
      storedId,
      envelope: withTime(record.stored.envelope, now),
      tags: tagsOf(record.stored.envelope),
      due: { after: 0 },
      onDuplicate: 'ignore',
    } as const;
    const { topic, index } = partition;
    const lane =
      once === undefined
        ? this.#lanes.get(topic, index)
        : this.#laneOf(partition, repeatableCallsOf(`${once}:schedule`));
    const [result] = await lane.send((_, call) => store.publish(partition, call, [message], { order }));
    const dueAt = toDate(result?.dueAt ?? now);
    const published = { id: messageId, topic, partition: index, dueAt, duplicate: false };
    events.emit('published', published);
    return published;
  }

  async #store(given: GivenSchedule, declared: boolean, options?: ActionOptions): Promise<Schedule> {
    const actor = options && actorOf(options);
    const { store, topics, audit } = this.#dependencies;
    const checked = checkSchedule(given, (name) => topics.settings(name).serializer, Math.round(store.now()));
    const { id, topic, key, envelope } = checked;
    const schema = schemaOf(given.topic);
    if (schema) await assertPayload({ topic, schema, serializer: topics.settings(topic).serializer }, envelope);
    const entry = { id, topic, key };
    const partitions = topics.knownPartitions(topic) ?? (await this.#serve(() => topics.partitions(topic)));
    const partition = { topic, index: partitionOf(key, partitions) };
    await this.#enter(entry);
    const about = () => ({ topic, actor, given: { schedule: id } });
    const put = async (): Promise<PutSchedule> => this.#put(partition, checked, declared);
    const audited = { action: 'upsertSchedule', about, hasChanged: toHasChanged, shown: toHasChanged } as const;
    const { record } = await (options ? audit.around(audited, put) : put());
    // Whoever removes an earlier one at the same time may have taken it off the list.
    await this.#enter(entry);
    return this.#describe({ record, partition });
  }

  async #enter(entry: IndexedSchedule): Promise<void> {
    const { store } = this.#dependencies;
    const { topic, key } = await this.#serve(() => store.indexSchedule(entry));
    if (topic === entry.topic && key === entry.key) return;
    throw new InvalidArgumentError(
      `Schedule '${entry.id}' exists with topic '${topic}' and key ${describe(key)}, and neither can be changed. Remove it first, or ` +
        `choose another id. Given: topic '${entry.topic}', key ${describe(entry.key)}.`,
    );
  }

  /** Writes a schedule unless it is as it should be. */
  async #put(partition: Partition, checked: CheckedSchedule, declared: boolean): Promise<PutSchedule> {
    const { store } = this.#dependencies;
    const { id, key, catchUp, overlap, envelope } = checked;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const [found] = await this.#serve(() => store.getSchedules(partition, [id]));
      const known = readable(found);
      const now = this.#now(partition);
      const rule = checked.rule(anchorOf(known) ?? now);
      const defined: DefinedSchedule = { rule, catchUp, overlap, key, declared };
      const content = { definition: encodeDefinition(defined), envelope };
      const recurrence = new Recurrence(rule);
      const isSameRule = known && JSON.stringify(known.rule) === JSON.stringify(rule);
      const goesOn = isSameRule && !standsStill(recurrence, known.state, now);
      if (goesOn && isSameContent(known.stored, content) && found?.nextAt === known.state.next) {
        return { record: known, hasChanged: false };
      }
      const next = goesOn ? known.state : startedState(recurrence, known?.state, now);
      const state = encodeState(next);
      const write = { id, expected: found?.state, state, content, nextAt: next.next };
      if (await this.#serve(() => store.putSchedule(partition, write))) {
        const record = { ...defined, id, state: next, stored: { id, state, ...content } };
        return { record, hasChanged: true };
      }
    }
    throw changesTooOften(id);
  }

  /** @param change gives the state; the same one if nothing is to change */
  async #change(id: string, change: (record: ScheduleRecord, now: number) => ScheduleState): Promise<boolean> {
    const { store } = this.#dependencies;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const found = await this.#finder.find(id);
      if (!found) return false;
      const { record, partition } = found;
      const next = change(record, this.#now(partition));
      if (next === record.state) return true;
      const write = { id, expected: record.stored.state, state: encodeState(next), nextAt: next.next };
      if (await this.#serve(() => store.putSchedule(partition, write))) return true;
    }
    throw changesTooOften(id);
  }

  #describe({ record, partition }: Pick<PlacedSchedule, 'record' | 'partition'>): Schedule {
    const { serializer } = this.#dependencies.topics.settings(partition.topic);
    return toSchedule(record, partition, serializer);
  }

  /** The clock that decides about a partition, in whole milliseconds. */
  #now(partition: Partition): number {
    return Math.round(this.#dependencies.store.now(partition));
  }

  #serve<R>(operation: () => Promise<R>): Promise<R> {
    const { clock, timeout } = this.#dependencies;
    return serveWithin(clock, timeout, operation);
  }
}

function toHasChanged({ hasChanged }: PutSchedule): boolean {
  return hasChanged;
}

function changesTooOften(id: string): BrokerUnavailableError {
  return new BrokerUnavailableError(
    `Schedule '${id}' changes too often to be changed; nothing was changed. Try again.`,
  );
}
