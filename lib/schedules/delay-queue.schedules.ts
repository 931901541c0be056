import { randomBytes, randomUUID } from 'node:crypto';
import { type ActionOptions, type AuditLog, type AuditedAction, actorOf, checkedActor } from '../events/audit-log.js';
import type { Broker } from '../store/broker.interface.js';
import type { Partition } from '../store/partition.js';
import type { IndexedSchedule } from '../store/schedules/schedule-records.js';
import { describe } from '../checks/describe.js';
import { type Rules, applyRules, orElse, trueOrFalse } from '../checks/rules.js';
import { assertInteger } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { EventSink } from '../events/queue-events.interface.js';
import { type FleetSource, topicsOfFleet } from '../fleet/live-processes.js';
import { tagsOf, withTime } from '../messages/envelope.js';
import { assertPayload } from '../messages/payload-schema.js';
import { OPERATION, type Repeatable } from '../messages/operation.js';
import type { PublishedPayload, TopicName } from '../messages/payload-types.js';
import type { ConfirmedPublish } from '../messages/publish-options.interface.js';
import { toStoredId } from '../messages/stored-id.js';
import { type Topic, checkedTopicName, schemaOf } from '../messages/topic.js';
import { shareClass } from '../package-copies.js';
import type { Clock } from '../time/clock.js';
import { toDate } from '../time/date.js';
import { ChangeLane } from '../store/calls/change-lane.js';
import { Lanes } from '../store/calls/lanes.js';
import { namedCall } from '../store/calls/named-call.js';
import type { TopicRegistry } from '../fleet/topic.registry.js';
import { type GivenSchedule, assertScheduleId, checkSchedule } from './check-schedule.js';
import {
  extraId,
  namedExtraId,
  occurrenceId,
  type ScheduleRecord,
  type ScheduleState,
  toSchedule,
} from './schedule-record.js';
import { type LastRun, lastRuns } from './last-runs.js';
import { type FailedTopic, type PlacedSchedule, PlacedSchedules, readable } from './placed-schedules.js';
import { Recurrence } from './recurrence.js';
import type { PruneOptions, Schedule, ScheduledMessageOptions, ScheduleRule } from './schedule.interface.js';
import { firstFrom, pausedState, timesAhead, upcoming } from './starting-state.js';
import { ScheduleWrites } from './schedule-writes.js';

/** Most occurrences that `next()` returns. */
const MOST_LISTED = 1000;

const WORD_BYTES = 6;

export interface SchedulesDependencies {
  readonly store: FleetSource & Pick<Broker, 'messages' | 'schedules'>;
  readonly topics: TopicRegistry;
  readonly clock: Clock;
  readonly events: EventSink;
  readonly audit: Pick<AuditLog, 'around'>;
  /** Time limit for an answer, in milliseconds. */
  readonly timeout: number;
  /** Topics that this process handles. */
  readonly handled: () => ReadonlySet<string>;
}

/** Schedules, and the topics whose schedules could not all be read. */
export interface ListedSchedules {
  readonly schedules: readonly Schedule[];
  readonly failed: readonly FailedTopic[];
}

const PRUNE_RULES = { dryRun: orElse(trueOrFalse, false), actor: checkedActor } satisfies Rules<PruneOptions>;

/**
 * Manages schedules: rules that publish a message again and again. Schedules are kept in Redis, and each occurrence is published once by
 * the fleet, whichever processes are alive.
 *
 * Every method that changes something takes `actor` in its last argument. With it, the call counts as the work of an operator and is
 * written to the audit log; for that, the Redis user needs the role `operator`.
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
  readonly #found: PlacedSchedules;
  readonly #writes: ScheduleWrites;
  readonly #lanes: Lanes<ChangeLane>;
  /** Ids of the schedules that handlers of this process declare. */
  readonly #declared = new Set<string>();

  /** @internal */
  constructor(dependencies: SchedulesDependencies) {
    this.#dependencies = dependencies;
    this.#found = new PlacedSchedules(dependencies);
    const { store, clock, timeout } = dependencies;
    const caller = `${randomUUID()}:schedule`;
    this.#lanes = new Lanes((partition) => new ChangeLane({ clock, partition, timeout, caller }));
    this.#writes = new ScheduleWrites(store, this.#found, this.#lanes);
  }

  /**
   * Stores a schedule, or gives the schedule with this id another rule, payload or options. If nothing differs, nothing changes, so every
   * process can call it when it boots. A paused schedule stays paused.
   *
   * A new rule applies from now on: occurrences that the earlier one has published ahead of their time, by two seconds at most, are taken
   * back, except those that both rules have; then the new rule applies after them. With `every` and without `startAt`, intervals count from
   * when the schedule was first stored.
   *
   * @throws InvalidArgumentError if it is not valid, or if it exists with another topic or key: remove it first
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
    options: ActionOptions = {},
  ): Promise<Schedule> {
    const actor = actorOf(options);
    if (actor === undefined) return this.#store(schedule, false);
    // The audit log does not get the payload and options.
    const { payload: _, options: __, topic, ...given } = schedule;
    const about = () => ({ topic: checkedTopicName(topic), actor, given });
    return this.#dependencies.audit.around({ action: 'upsertSchedule', hidesResult: true, about }, () =>
      this.#store(schedule, false),
    );
  }

  /**
   * Does the same for a schedule that a handler declares.
   *
   * @internal
   */
  async declare(schedule: GivenSchedule, { onlyIfMissing = false } = {}): Promise<Schedule> {
    this.#declared.add(schedule.id);
    const found = onlyIfMissing ? await this.#found.find(schedule.id) : undefined;
    return found ? this.#describe(found) : this.#store(schedule, true);
  }

  /**
   * @returns `undefined` if there is no schedule with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async get(id: string): Promise<Schedule | undefined> {
    const found = await this.#found.find(id);
    return found && this.#describe(found);
  }

  /**
   * Returns the topic of a schedule, even if that topic cannot be read now: the check of whether a caller is allowed to see it comes first.
   *
   * @returns `undefined` if there is no schedule with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @internal
   */
  async topicOf(id: string): Promise<string | undefined> {
    return (await this.#found.place(id))?.topic;
  }

  /**
   * Lists all schedules, in order of their ids.
   *
   * @throws BrokerUnavailableError
   * @throws ConfigurationError if this process's options give a schedule's topic another number of partitions or another order
   */
  async list(): Promise<Schedule[]> {
    return (await this.#all()).map((found) => this.#describe(found));
  }

  /**
   * Lists the schedules that can be read now, and the topics whose schedules cannot.
   *
   * @throws BrokerUnavailableError if the list of all schedules cannot be read
   * @internal
   */
  async listKnown(): Promise<ListedSchedules> {
    const { found, failed } = await this.#found.all();
    return { schedules: found.map((one) => this.#describe(one)), failed };
  }

  /**
   * Returns the outcome of the latest occurrence of each schedule, with one call for each that has one.
   *
   * @returns outcomes in the order of the schedules; `undefined` if it has never occurred, or the outcome is unknown now
   * @internal
   */
  async lastRuns(schedules: readonly Schedule[]): Promise<(LastRun | undefined)[]> {
    const { store } = this.#dependencies;
    return lastRuns(schedules, async (partition, storedId) =>
      this.#serve(() => store.messages.get(partition, storedId)),
    );
  }

  /**
   * Returns the times of a schedule's next occurrences from now on; for a paused schedule, those it would have if it were resumed now. Late
   * occurrences are not among them, whether they will be caught up or not: see {@link Schedule.next}.
   *
   * @param n number of times, 1 to 1000; fewer are returned if the schedule ends before
   * @returns none if there is no schedule with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async next(id: string, n = 1): Promise<Date[]> {
    assertInteger('n', n, { min: 1, max: MOST_LISTED });
    const found = await this.#found.find(id);
    if (!found) return [];
    const { rule, state } = found.record;
    const recurrence = Recurrence.of(rule);
    const times: Date[] = [];
    const now = this.#found.now(found.partition);
    const first = state.paused ? now : upcoming(found.record, now);
    let time = first === undefined ? undefined : recurrence.from(Math.max(first, now));
    for (; time !== undefined && times.length < n; time = recurrence.after(time)) times.push(toDate(time));
    return times;
  }

  /**
   * Stops a schedule's occurrences until {@link resume}. Messages that it has already published stay.
   *
   * @returns whether there is a schedule with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async pause(id: string, options: ActionOptions = {}): Promise<boolean> {
    return this.#act('pauseSchedule', id, options, () => this.#pause(id, (options as Repeatable)[OPERATION]));
  }

  async #pause(id: string, operation: string | undefined): Promise<boolean> {
    const found = await this.#writes.change(id, paused, operation);
    // It may have been resumed since, especially before a repeat of the call: occurrences published after that must stay.
    if (found && (await this.#found.find(id))?.record.state.paused) await this.#takeBack(found);
    return found !== undefined;
  }

  /**
   * Continues a schedule with its next occurrence. Occurrences during the pause are not caught up.
   *
   * @returns whether there is a schedule with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async resume(id: string, options: ActionOptions = {}): Promise<boolean> {
    return this.#act('resumeSchedule', id, options, () => this.#resume(id, (options as Repeatable)[OPERATION]));
  }

  async #resume(id: string, operation: string | undefined): Promise<boolean> {
    return (await this.#writes.change(id, resumed, operation)) !== undefined;
  }

  /**
   * Removes a schedule. Messages that it has already published stay. A `@RecurringHandler()` that declares it stores it again at the
   * next boot.
   *
   * @returns whether there was a schedule with this id
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async remove(id: string, options: ActionOptions = {}): Promise<boolean> {
    return this.#act('removeSchedule', id, options, () => this.#remove(id));
  }

  async #remove(id: string): Promise<boolean> {
    const { store } = this.#dependencies;
    const place = await this.#found.place(id);
    if (!place) return false;
    const partition = await this.#found.partitionOf(place);
    const [before] = await this.#serve(() => store.schedules.getSchedules(partition, [id]));
    const removed = await this.#discard(partition, id);
    await this.#serve(() => store.schedules.unindexSchedule({ id }));
    const record = readable(before);
    // Its owner may have published one more between the two calls.
    if (record) await this.#takeBack({ partition, record: { ...record, state: { ...record.state, paused: true } } });
    // It may have been stored again meanwhile; then it must not be missing from the list.
    const [found] = await this.#serve(() => store.schedules.getSchedules(partition, [id]));
    if (found) await this.#serve(() => store.schedules.indexSchedule({ id, ...place }));
    return removed;
  }

  /**
   * Publishes a schedule's message now, in addition to its occurrences, even if it is paused.
   *
   * @throws InvalidArgumentError if there is no schedule with this id
   * @throws BrokerUnavailableError if it was not confirmed within `publishTimeout`
   */
  async runNow(id: string, options: ActionOptions = {}): Promise<ConfirmedPublish> {
    return this.#act('runScheduleNow', id, options, () => this.#runNow(id, (options as Repeatable)[OPERATION]));
  }

  async #runNow(id: string, operation: string | undefined): Promise<ConfirmedPublish> {
    const { store, events, topics } = this.#dependencies;
    const found = await this.#found.find(id);
    if (!found) throw new InvalidArgumentError(`There is no schedule '${id}'. Store it with upsert().`);
    const { partition, record } = found;
    const now = this.#found.now(partition);
    const messageId =
      operation === undefined
        ? extraId(id, now, randomBytes(WORD_BYTES).toString('base64url'))
        : namedExtraId(id, operation);
    const storedId = toStoredId(messageId, record.key);
    const message = {
      storedId,
      envelope: withTime(record.stored.envelope, now),
      tags: tagsOf(record.stored.envelope),
      due: { after: 0 },
      onDuplicate: 'ignore',
    } as const;
    const lane = this.#lanes.get(partition.topic, partition.index);
    const { topic, index } = partition;
    const order = topics.knownOrder(topic);
    const named = operation === undefined ? undefined : namedCall(operation, id);
    const [result] = await lane.send((_, call) =>
      store.messages.publish(partition, named ?? call, [message], { order }),
    );
    const dueAt = toDate(result?.dueAt ?? now);
    const published = { id: messageId, topic, partition: index, dueAt, duplicate: false };
    events.emit('published', published);
    return published;
  }

  /**
   * Removes the schedules that a `@RecurringHandler()` once declared and that none declares any more: those of topics that this process
   * handles without declaring the schedule, and those of topics that no process of the fleet has a handler for, whether or not its intake
   * is stopped. Schedules of `upsert()` stay.
   *
   * @param options with `dryRun: true` it finds them and removes none
   * @returns the ids of those that were removed, or would be
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async prune(options: PruneOptions = {}): Promise<string[]> {
    const { dryRun, actor } = applyRules(PRUNE_RULES, 'The options of prune', options, '');
    const { store, handled } = this.#dependencies;
    const own = handled();
    const ofFleet = await this.#serve(() => topicsOfFleet(store));
    const pruned: string[] = [];
    for (const { record, partition } of await this.#all()) {
      if (!record.declared || this.#declared.has(record.id)) continue;
      if (!own.has(partition.topic) && ofFleet.has(partition.topic)) continue;
      const removed = dryRun || (await this.#act('pruneSchedule', record.id, { actor }, () => this.#remove(record.id)));
      if (removed) pruned.push(record.id);
    }
    return pruned;
  }

  /** Changes a schedule, and writes an audit entry if the actor is known. A schedule that does not exist has no topic for the entry. */
  async #act<T>(action: AuditedAction, id: string, options: ActionOptions, act: () => Promise<T>): Promise<T> {
    const actor = actorOf(options);
    assertScheduleId(id);
    const { audit } = this.#dependencies;
    const place = actor === undefined ? undefined : await this.#found.place(id);
    if (!place) return act();
    return audit.around({ action, about: () => ({ topic: place.topic, actor, given: { id } }) }, act);
  }

  async #store(given: GivenSchedule, declared: boolean): Promise<Schedule> {
    const { store, topics } = this.#dependencies;
    const checked = checkSchedule(given, (name) => topics.settings(name), Math.round(store.now()));
    const { id, topic, key, envelope } = checked;
    const schema = schemaOf(given.topic);
    if (schema) await assertPayload({ topic, schema, serializer: topics.settings(topic).serializer }, envelope);
    const entry = { id, topic, key };
    const partition = await this.#found.partitionOf(entry);
    await this.#enter(entry);
    const { record, before } = await this.#writes.put(partition, checked, declared);
    if (before) await this.#takeBack({ partition, record: before }, Recurrence.of(record.rule));
    try {
      // A concurrent removal of an earlier one may have taken it off the list.
      await this.#enter(entry);
    } catch (error) {
      // It was stored for another topic meanwhile: the one written here would be in no list, and publish forever.
      if (error instanceof InvalidArgumentError) await this.#discard(partition, id);
      throw error;
    }
    return this.#describe({ record, partition });
  }

  async #discard({ topic, index }: Partition, id: string): Promise<boolean> {
    const { store } = this.#dependencies;
    return this.#lanes.get(topic, index).send((partition, call) => store.schedules.removeSchedule(partition, call, id));
  }

  async #enter(entry: IndexedSchedule): Promise<void> {
    const { store } = this.#dependencies;
    const { topic, key } = await this.#serve(() => store.schedules.indexSchedule(entry));
    if (topic === entry.topic && key === entry.key) return;
    throw new InvalidArgumentError(
      `Schedule '${entry.id}' exists with topic '${topic}' and key ${describe(key)}, and neither can be changed. Remove it first, or ` +
        `choose another id. Given: topic '${entry.topic}', key ${describe(entry.key)}.`,
    );
  }

  /**
   * Cancels the occurrences that were published ahead of their time.
   *
   * @param others recurrence whose occurrences stay
   */
  async #takeBack({ partition, record }: PlacedSchedule, others?: Recurrence): Promise<void> {
    const { store } = this.#dependencies;
    const lane = this.#lanes.get(partition.topic, partition.index);
    for (const time of timesAhead(record, this.#found.now(partition))) {
      if (others?.has(time)) continue;
      const storedId = toStoredId(occurrenceId(record.id, time), record.key);
      await lane.send((_, call) => store.messages.cancel(partition, call, storedId));
    }
  }

  async #all(): Promise<readonly PlacedSchedule[]> {
    const { found, failed } = await this.#found.all();
    if (failed[0]) throw failed[0].error;
    return found;
  }

  #describe({ record, partition }: PlacedSchedule): Schedule {
    const { serializer } = this.#dependencies.topics.settings(partition.topic);
    return toSchedule(record, partition, serializer, upcoming(record, this.#found.now(partition)));
  }

  #serve<R>(operation: () => Promise<R>): Promise<R> {
    return this.#found.serve(operation);
  }
}

function paused({ state }: ScheduleRecord, now: number): ScheduleState {
  return state.paused ? state : pausedState(state, now);
}

function resumed({ rule, state }: ScheduleRecord, now: number): ScheduleState {
  return state.paused ? { ...state, paused: false, next: firstFrom(Recurrence.of(rule), state, now) } : state;
}
