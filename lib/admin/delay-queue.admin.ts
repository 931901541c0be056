import { v7 as uuidv7 } from 'uuid';
import type { CancelResult, RescheduleResult } from '../store/messages/change-message.js';
import type { Partition } from '../store/partition.js';
import { serveWithin } from '../store/calls/serve.js';
import { shareClass } from '../package-copies.js';
import { type MessageRef, assertMessageRef } from '../messages/message-ref.js';
import { type TopicRef, checkedTopicName } from '../messages/topic.js';
import { MAX_DELAY } from '../checks/limits.js';
import { toDate } from '../time/date.js';
import { type Duration, parseDuration } from '../time/duration.js';
import type { LocalTime } from '../time/local-time.js';
import { findMessage } from '../producer/find-message.js';
import { MessageChanges } from '../producer/message-changes.js';
import { partitionCount } from '../store/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type Agenda, type AgendaOptions, agendaOf } from './agenda.js';
import {
  type ActionOptions,
  type AuditEntries,
  AuditLog,
  type AuditOptions,
  type AuditedAction,
  actorOf,
} from '../events/audit-log.js';
import type {
  BulkOptions,
  BulkResult,
  CancelManyOptions,
  CancelManyResult,
  ClearOptions,
  RequeueOptions,
} from './bulk-options.js';
import { clearTopic } from './clear-topic.js';
import type { DeadLetterFilter } from './dead-letter-filter.js';
import type { DeadLetterGroups } from './dead-letter-groups.js';
import { DeadLetters } from './dead-letters.js';
import { type DoctorReport, doctor } from './doctor.js';
import { type EditResult, editPayload } from './edit-payload.js';
import { type Explanation, explain } from './explain.js';
import { type Fleet, type FleetOptions, type WorkMinute, historyOf, lookAtFleet } from './fleet.js';
import { type ListedMessage, type MessageDetails, type View, toDetails } from './message-details.js';
import type { MessageFilter } from './message-filter.js';
import { type PeekOptions, type PeekPage, type PeekState, peek } from './peek.js';
import { type SearchOptions, type SearchPage, search } from './search.js';
import { type CountedTopic, type TopicStats, countTopic, countTopics } from './topic-stats.js';
import { TopicPauses } from './topic-pauses.js';
import type { ViewedMessages } from './viewed-messages.js';
import { WaitingMessages } from './waiting-messages.js';

/**
 * Shows topics and their messages, and changes waiting messages and dead letters. Inject it anywhere.
 *
 * If you pass an id without its key, a method looks for the message in the id's own partition first, then in the others.
 *
 * @publicApi
 */
export class DelayQueueAdmin {
  static {
    shareClass('DelayQueueAdmin', this);
  }

  readonly #dependencies: AdminDependencies;
  readonly #changes: MessageChanges;
  readonly #deadLetters: DeadLetters;
  readonly #waiting: WaitingMessages;
  readonly #audit: AuditLog;
  readonly #pauses: TopicPauses;

  /** @internal */
  constructor(dependencies: AdminDependencies) {
    this.#dependencies = dependencies;
    const { broker, clock, timeout } = dependencies;
    this.#changes = new MessageChanges({
      store: broker,
      clock,
      timeout,
      caller: `${uuidv7()}:change`,
      partitionsOf: (topic) => this.#served(() => partitionCount(broker, topic)),
    });
    this.#deadLetters = new DeadLetters(dependencies);
    this.#waiting = new WaitingMessages(dependencies);
    this.#audit = new AuditLog(dependencies);
    this.#pauses = new TopicPauses(dependencies);
  }

  /**
   * Lists all topics that were ever used under this prefix, sorted, even if they have been empty for a long time.
   *
   * @throws BrokerUnavailableError
   */
  async topics(): Promise<string[]> {
    return this.#served(() => this.#dependencies.broker.fleet.topics());
  }

  /**
   * Counts the messages of a topic, in total and per partition, and shows its counters and owners.
   *
   * It takes one short call per partition. A topic that was never used has no partitions. If a shard of a Cluster is down, `unreachable`
   * lists its partitions, and no count includes them.
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async stats(topic: TopicRef): Promise<TopicStats> {
    const name = checkedTopicName(topic);
    return countTopic(this.#dependencies, name);
  }

  /**
   * Counts many topics. A topic that cannot be counted has its error.
   *
   * @throws BrokerUnavailableError if the live processes cannot be determined
   * @internal
   */
  async statsOf(topics: readonly string[]): Promise<CountedTopic[]> {
    return countTopics(this.#dependencies, topics);
  }

  /**
   * Waits until the broker answers, for at most `timeout` milliseconds.
   *
   * @throws BrokerUnavailableError that says why it does not answer
   * @internal
   */
  async reach(timeout: number): Promise<void> {
    const { broker, clock } = this.#dependencies;
    await serveWithin(clock, timeout, () => broker.link.ping());
  }

  /**
   * Looks up a message, even a finished one if the topic's option `finished` keeps it.
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async get(topic: TopicRef, ref: MessageRef): Promise<MessageDetails | undefined> {
    const name = checkedTopicName(topic);
    assertMessageRef(ref);
    const { broker, serializerOf } = this.#dependencies;
    return this.#served(async () => {
      const config = await broker.fleet.configOf(name);
      if (!config) return undefined;
      const look = async (partition: Partition, storedId: string): Promise<MessageDetails | undefined> => {
        const stored = await broker.messages.get(partition, storedId);
        return stored && toDetails(partition, stored, serializerOf(name));
      };
      const sought = { topic: name, partitions: config.partitions, ref };
      return findMessage(sought, (partition, soughtId) => broker.messages.locate(partition, soughtId), look);
    });
  }

  /**
   * Lists the messages in one state (`'scheduled'`, `'due'`, `'in-flight'`, `'dead'` or `'finished'`), page by page, in order, over all
   * partitions.
   *
   * Waiting messages are in order of their due times, messages in flight in order of the ends of their leases, dead letters in order of
   * their deaths, and finished messages in the order in which they ended. Each page is read in short calls. A message that keeps its state
   * and its place is listed exactly once, whatever else comes and goes in the meantime. A message that moves, because it is rescheduled or
   * its lease is renewed, may be listed twice or not at all.
   *
   * @example
   * ```ts
   * let cursor: string | undefined;
   * do {
   *   const page = await admin.peek('order.timeout', 'dead', { limit: 100, cursor });
   *   for (const { id, at, failure } of page.messages) console.log(at, id, failure?.message);
   *   cursor = page.cursor;
   * } while (cursor !== undefined);
   * ```
   *
   * @throws InvalidArgumentError also if the cursor is not one that was returned for this topic and state
   * @throws BrokerUnavailableError
   */
  async peek(topic: TopicRef, state: PeekState, options: PeekOptions = {}): Promise<PeekPage> {
    return this.viewed((message) => message).peek(topic, state, options);
  }

  /**
   * Searches for messages by tag, key, text, field of the payload or due time.
   *
   * Redis only has an index of ids, keys and tags, so the search reads one message after the other, in short calls, at most `maxRead` per
   * `search()`. Show the progress, and go on with the `cursor` for as long as you like. A message that keeps its state and its place is
   * read exactly once.
   *
   * @example
   * ```ts
   * let [cursor, looked] = [undefined as string | undefined, 0];
   * do {
   *   const page = await admin.search('order.timeout', { field: { path: 'customer.id', value: 7 } }, { cursor });
   *   for (const { id, state, at } of page.messages) console.log(id, state, at);
   *   console.log(`${(looked += page.read)} looked at`);
   *   cursor = page.cursor;
   * } while (cursor !== undefined);
   * ```
   *
   * @throws InvalidArgumentError also if the cursor is not one that was returned for this topic, tag and states
   * @throws BrokerUnavailableError
   * @see docs/reference/admin.md#search
   */
  async search(topic: TopicRef, filter: MessageFilter, options: SearchOptions = {}): Promise<SearchPage> {
    return this.viewed((message) => message).search(topic, filter, options);
  }

  /**
   * Returns `peek()` and `search()` for viewers who are not allowed to see all of a message: neither matches nor page ends reveal the rest.
   *
   * @internal
   */
  viewed<T extends ListedMessage>(view: View<T>): ViewedMessages<T> {
    const dependencies = this.#dependencies;
    return {
      peek: async (topic, state, options = {}) => peek(dependencies, checkedTopicName(topic), state, { options, view }),
      search: async (topic, filter, options = {}) =>
        search(dependencies, checkedTopicName(topic), filter, { options, view }),
    };
  }

  /**
   * Counts when waiting messages fall due, in one topic or in all.
   *
   * The counts are exact, and take one short call per partition, however many messages there are. If a shard of a Cluster is down,
   * `unreachable` lists its partitions, and no count includes them.
   *
   * @example
   * ```ts
   * const { overdue, buckets, later } = await admin.agenda('order.timeout', { to: Date.now() + 86_400_000, buckets: 24 });
   * for (const { from, count } of buckets) console.log(from, count);
   * ```
   *
   * @param topic leave it out, or pass `undefined`, for all topics
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @see docs/reference/admin.md#agenda
   */
  async agenda(topic?: TopicRef, options: AgendaOptions = {}): Promise<Agenda> {
    return agendaOf(this.#dependencies, topic === undefined ? undefined : checkedTopicName(topic), options);
  }

  /**
   * Lists the processes that handle messages: what each one handles and owns, since when, how busy it is, its version and its clock, and
   * what it did in the last few minutes.
   *
   * Processes report this with their heartbeats, so it is up to five seconds old and needs no fleet events.
   *
   * @example
   * ```ts
   * const { processes, topics } = await admin.fleet();
   * for (const { process, busy, concurrency, since } of processes) console.log(process, `${busy} of ${concurrency}`, since);
   * for (const { topic, minutes } of topics) console.log(topic, minutes.at(-2)?.acked, minutes.at(-2)?.lateness?.p99);
   * ```
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @see docs/reference/admin.md#fleet
   */
  async fleet(options: FleetOptions = {}): Promise<Fleet> {
    return lookAtFleet(this.#dependencies, options);
  }

  /**
   * Shows what the fleet did for a topic over days: how many messages were handled, failed and died, and how late they were.
   *
   * Set the module's option `history` in the processes that handle the topic to keep this.
   *
   * @example
   * ```ts
   * for (const { at, seconds, acked, dead, lateness } of await admin.history('order.timeout')) {
   *   console.log(at, `${acked / seconds}/s`, dead, lateness?.p99);
   * }
   * ```
   *
   * @returns the earliest span first; spans in which nothing was done are left out. Lateness is up to twice too high.
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @see docs/reference/admin.md#history
   */
  async history(topic: TopicRef): Promise<WorkMinute[]> {
    return historyOf(this.#dependencies, checkedTopicName(topic));
  }

  /**
   * Explains why a message has not run, or what became of it: one cause, what else would keep it waiting, the facts, and what to do.
   *
   * It only reads, in a few short calls.
   *
   * @example
   * ```ts
   * const { cause, also, facts, advice } = await admin.explain('order.timeout', '42');
   * console.log(cause, also, advice, facts.dueAt);
   * ```
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @see docs/reference/admin.md#explain
   */
  async explain(topic: TopicRef, ref: MessageRef): Promise<Explanation> {
    const name = checkedTopicName(topic);
    assertMessageRef(ref);
    return explain(this.#dependencies, name, ref);
  }

  /**
   * Checks a Redis for everything that the promises of this library need, and says what each finding means and what to do.
   *
   * It looks at its version, settings, memory, disk, replicas, rights, signals and clock, and at what other programs left. It changes
   * nothing but for the trial of commands that every boot makes, which leaves nothing behind. It takes at most two times `publishTimeout`
   * (`timeout` of `createDelayQueueAdmin()`), and never rejects: if Redis cannot be reached, that is the finding.
   *
   * @example
   * ```ts
   * const { findings } = await admin.doctor();
   * for (const { level, check, message, advice } of findings) {
   *   if (level !== 'ok') console.log(level, check, message, advice);
   * }
   * ```
   * @see docs/reference/doctor.md
   */
  async doctor(): Promise<DoctorReport> {
    return doctor(this.#dependencies);
  }

  /**
   * Cancels a message. One that is being handled has its `signal` aborted and is not retried.
   *
   * @returns `'not-found'` also for a dead letter
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @throws ConfigurationError if the topic speaks another protocol
   */
  async cancel(topic: TopicRef, ref: MessageRef, options?: ActionOptions): Promise<CancelResult>;
  /**
   * With a filter in place of the id, cancels all waiting messages that match; with the option `inFlight` also those that are being
   * handled.
   *
   * The call works in steps of at most 200 messages of a partition, each partition in turn, with a short call per message. If a delivery
   * begins between reading a message and cancelling it, its handler is stopped, and the message counts as `inFlight`. Messages that are
   * published during the call may be cancelled as well. If the call fails or its process dies, call it again: what was cancelled stays
   * cancelled.
   *
   * @example
   * ```ts
   * const filter = { field: { path: 'customer.id', value: 7 } };
   * const { matched, examples } = await admin.cancel('order.timeout', filter, { dryRun: true });
   * await admin.cancel('order.timeout', filter, { rate: 100, actor: 'ann@example.com' });
   * ```
   *
   * @param filter `{ all: true }` means every waiting message; an empty filter is refused
   * @throws InvalidArgumentError also if the topic was never used: nothing was sent
   * @throws BrokerUnavailableError if a call was not confirmed in time; those before it have taken effect
   * @throws ConfigurationError if the topic speaks another protocol
   * @see docs/reference/admin.md#bulk-actions
   */
  async cancel(topic: TopicRef, filter: MessageFilter, options?: CancelManyOptions): Promise<CancelManyResult>;
  async cancel(
    topic: TopicRef,
    which: MessageRef | MessageFilter,
    options: CancelManyOptions = {},
  ): Promise<CancelResult | CancelManyResult> {
    if (isOne(which))
      return this.#act('cancel', topic, shownRef(which), options, () => this.#changes.cancel(topic, which));
    return this.#actOnMany('cancel', topic, which, options, (begin) =>
      this.#waiting.cancel(checkedTopicName(topic), which, options, begin),
    );
  }

  /**
   * Moves a waiting message to another time, as `DelayQueueProducer.reschedule()` does.
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @throws ConfigurationError if the topic speaks another protocol
   */
  async reschedule(
    topic: TopicRef,
    ref: MessageRef,
    when: { delay: Duration } | { deliverAt: Date | number | LocalTime },
    options?: ActionOptions,
  ): Promise<RescheduleResult>;
  /**
   * With a filter in place of the id, moves all waiting messages that match to the same time; a `delay` counts from the start of the call.
   *
   * Messages that are due at that time already are not `matched`. It works in steps like {@link cancel}, and can be called again like it.
   *
   * @param filter `{ all: true }` means every waiting message; an empty filter is refused
   * @throws InvalidArgumentError also if the topic was never used: nothing was sent
   * @throws BrokerUnavailableError if a call was not confirmed in time; those before it have taken effect
   * @throws ConfigurationError if the topic speaks another protocol
   * @see docs/reference/admin.md#bulk-actions
   */
  async reschedule(
    topic: TopicRef,
    filter: MessageFilter,
    when: { delay: Duration } | { deliverAt: Date | number | LocalTime },
    options?: BulkOptions,
  ): Promise<BulkResult>;
  async reschedule(
    topic: TopicRef,
    which: MessageRef | MessageFilter,
    when: { delay: Duration } | { deliverAt: Date | number | LocalTime },
    options: BulkOptions = {},
  ): Promise<RescheduleResult | BulkResult> {
    if (isOne(which)) {
      const given = { ...shownRef(which), ...when };
      return this.#act('reschedule', topic, given, options, () => this.#changes.reschedule(topic, which, when));
    }
    return this.#actOnMany('reschedule', topic, { ...which, ...when }, options, (begin) =>
      this.#waiting.reschedule(checkedTopicName(topic), which, { when, options }, begin),
    );
  }

  /**
   * Makes a waiting message due now. A message that is due already keeps its time, and so its place before others.
   *
   * @returns `'moved'` also if it was due already
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @throws ConfigurationError if the topic speaks another protocol
   */
  async runNow(topic: TopicRef, ref: MessageRef, options?: ActionOptions): Promise<RescheduleResult>;
  /**
   * With a filter in place of the id, makes all waiting messages that match due now.
   *
   * Messages that are due already keep their time, and are not `matched`. It works in steps like {@link cancel}, and can be called again
   * like it. Set a `rate` that your handlers can take.
   *
   * @param filter `{ all: true }` means every waiting message; an empty filter is refused
   * @throws InvalidArgumentError also if the topic was never used: nothing was sent
   * @throws BrokerUnavailableError if a call was not confirmed in time; those before it have taken effect
   * @throws ConfigurationError if the topic speaks another protocol
   * @see docs/reference/admin.md#bulk-actions
   */
  async runNow(topic: TopicRef, filter: MessageFilter, options?: BulkOptions): Promise<BulkResult>;
  async runNow(
    topic: TopicRef,
    which: MessageRef | MessageFilter,
    options: BulkOptions = {},
  ): Promise<RescheduleResult | BulkResult> {
    if (!isOne(which)) {
      return this.#actOnMany('runNow', topic, which, options, (begin) =>
        this.#waiting.runNow(checkedTopicName(topic), which, options, begin),
      );
    }
    const { broker } = this.#dependencies;
    return this.#act('runNow', topic, shownRef(which), options, () =>
      this.#changes.change(topic, which, (partition, call, storedId) =>
        broker.messages.runNow(partition, call, storedId),
      ),
    );
  }

  /**
   * Gives a waiting message another payload. Its due time, headers, options and attempts stay as they are.
   *
   * This does not check the topic's schema, if it has one; that happens before the delivery. If the message was published with a
   * serializer, the admin needs it too.
   *
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError: nothing was changed
   * @throws BrokerUnavailableError if it was not confirmed in time
   * @throws ConfigurationError if the topic speaks another protocol
   */
  async edit(topic: TopicRef, ref: MessageRef, payload: unknown, options: ActionOptions = {}): Promise<EditResult> {
    return this.#act('edit', topic, shownRef(ref), options, async () =>
      editPayload(this.#dependencies, this.#changes, checkedTopicName(topic), ref, payload),
    );
  }

  /**
   * Schedules dead letters again, with all of their attempts: one by its id, or by id and key, or all that match a filter.
   *
   * Payload, headers and options stay as they are, and deliveries keep counting up. The call works in steps of at most 200 messages of a
   * partition, each partition in turn, so it doesn't hold up anyone else, however many there are.
   *
   * @example
   * ```ts
   * await admin.requeue('order.timeout', '42', { payload: { orderId: '42', currency: 'EUR' } });
   * const { matched } = await admin.requeue('order.timeout', { reason: 'failed' }, { dryRun: true });
   * await admin.requeue('order.timeout', { reason: 'failed', since: Date.now() - 3_600_000 }, { rate: 50 });
   * ```
   *
   * @param which `{ all: true }` means every dead letter; an empty filter is refused
   * @throws InvalidArgumentError also for a filter on a topic that was never used: nothing was sent
   * @throws SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was sent
   * @throws BrokerUnavailableError if a step was not confirmed in time; those before it have taken effect
   * @throws ConfigurationError if the topic speaks another protocol
   * @see docs/guides/dead-letters.md
   */
  async requeue(
    topic: TopicRef,
    which: MessageRef | DeadLetterFilter,
    options: RequeueOptions = {},
  ): Promise<BulkResult> {
    return this.#actOnMany('requeue', topic, shownRef(which), options, (begin) =>
      this.#deadLetters.requeue(topic, which, options, begin),
    );
  }

  /**
   * Groups the dead letters of a topic by cause.
   *
   * It reads all of them, page by page, so it takes a while if there are very many, but it blocks nothing.
   *
   * @example
   * ```ts
   * const { groups } = await admin.deadLetterGroups('order.timeout');
   * for (const { count, name, pattern, lastAt } of groups) console.log(count, `${name}: ${pattern}`, lastAt);
   * await admin.requeue('order.timeout', { fingerprint: groups[0].fingerprint }, { rate: 50 });
   * ```
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @see docs/guides/dead-letters.md
   */
  async deadLetterGroups(topic: TopicRef): Promise<DeadLetterGroups> {
    return this.#deadLetters.groups(topic);
  }

  /**
   * Removes dead letters for good: one by its id, or by id and key, or all that match a filter.
   *
   * It works in steps like {@link requeue}.
   *
   * @param which `{ all: true }` means every dead letter; an empty filter is refused
   * @throws InvalidArgumentError also for a filter on a topic that was never used: nothing was sent
   * @throws BrokerUnavailableError if a step was not confirmed in time; those before it have taken effect
   * @throws ConfigurationError if the topic speaks another protocol
   * @see docs/guides/dead-letters.md
   */
  async remove(topic: TopicRef, which: MessageRef | DeadLetterFilter, options: BulkOptions = {}): Promise<BulkResult> {
    return this.#actOnMany('remove', topic, shownRef(which), options, (begin) =>
      this.#deadLetters.remove(topic, which, options, begin),
    );
  }

  /**
   * Removes every waiting message, even if it waits for its next attempt. Messages in flight and dead letters stay.
   *
   * The call works in steps of at most 100 messages of a partition, each partition in turn, so it doesn't hold up anyone else. Messages
   * that are published during the call may be removed as well: to empty a topic for good, stop its publishers first.
   *
   * @example
   * ```ts
   * const { matched } = await admin.drain('order.timeout', { dryRun: true });
   * if (matched < 1000) await admin.drain('order.timeout');
   * ```
   *
   * @throws InvalidArgumentError also if the topic was never used
   * @throws BrokerUnavailableError if a step was not confirmed in time; those before it have taken effect
   * @throws ConfigurationError if the topic speaks another protocol
   */
  async drain(topic: TopicRef, options: ClearOptions = {}): Promise<BulkResult> {
    return this.#actOnMany('drain', topic, {}, options, (begin) =>
      clearTopic(this.#dependencies, checkedTopicName(topic), 'scheduled', options, begin),
    );
  }

  /**
   * Removes every dead letter, in steps like {@link drain}. Unlike {@link remove}, it includes those that die during the call.
   *
   * @throws InvalidArgumentError also if the topic was never used
   * @throws BrokerUnavailableError if a step was not confirmed in time; those before it have taken effect
   * @throws ConfigurationError if the topic speaks another protocol
   */
  async purge(topic: TopicRef, options: ClearOptions = {}): Promise<BulkResult> {
    return this.#actOnMany('purge', topic, {}, options, (begin) =>
      clearTopic(this.#dependencies, checkedTopicName(topic), 'dead', options, begin),
    );
  }

  /**
   * Stops the deliveries of a topic, in all processes, from their next claim on, until {@link resume}, even if everything restarts.
   *
   * Running handlers go on; publishing, cancelling and the rest work as before.
   *
   * @throws InvalidArgumentError also if the topic was never used
   * @throws BrokerUnavailableError if it was not confirmed in time: some of the partitions may be paused then
   * @throws ConfigurationError if the topic speaks another protocol
   */
  async pause(topic: TopicRef, options: ActionOptions = {}): Promise<void> {
    await this.#act('pause', topic, {}, options, () => this.#pauses.pause(topic));
  }

  /**
   * Stops the deliveries of a topic for a while, in all processes, as a handler's `RateLimitedError` does, and answers until when.
   *
   * Running handlers go on, and no attempt is spent. A hold ends by itself, or with {@link resume}. A shorter hold never cuts a longer one
   * short.
   *
   * @example
   * ```ts
   * const until = await admin.hold('order.timeout', '30m', { actor: 'ann@example.com' });
   * console.log(`nothing begins before ${until.toISOString()}`);
   * ```
   *
   * @param delay from now on, 0 to 10 years
   * @returns until when all of it is held, on the Redis server's clock; partitions that were held for longer already begin later
   * @throws InvalidArgumentError also if the topic was never used
   * @throws BrokerUnavailableError if it was not confirmed in time: some of the partitions may be held then
   * @throws ConfigurationError if the topic speaks another protocol
   */
  async hold(topic: TopicRef, delay: Duration, options: ActionOptions = {}): Promise<Date> {
    return this.#act('hold', topic, { delay }, options, async () => {
      const length = parseDuration('delay', delay, { max: MAX_DELAY });
      return toDate(await this.#pauses.hold(topic, length));
    });
  }

  /**
   * Ends a pause and a hold. Messages that fell due in the meantime are delivered at once.
   *
   * @throws InvalidArgumentError also if the topic was never used
   * @throws BrokerUnavailableError if it was not confirmed in time: some of the partitions may still be paused or held
   * @throws ConfigurationError if the topic speaks another protocol
   */
  async resume(topic: TopicRef, options: ActionOptions = {}): Promise<void> {
    await this.#act('resume', topic, {}, options, () => this.#pauses.resume(topic));
  }

  /**
   * Lists the audit log: who changed what with the methods of this class, the latest first, page by page.
   *
   * About the latest 10,000 entries are kept. Pass `actor` to these methods to record who does it.
   *
   * @example
   * ```ts
   * await admin.pause('order.timeout', { actor: 'ann@example.com' });
   * const { entries } = await admin.audit({ limit: 10 });
   * for (const { at, actor, action, topic, given } of entries) console.log(at, actor, action, topic, given);
   * ```
   *
   * @throws InvalidArgumentError also if the cursor is not one that was returned
   * @throws BrokerUnavailableError
   * @see docs/reference/admin.md#audit-log
   */
  async audit(options: AuditOptions = {}): Promise<AuditEntries> {
    return this.#audit.read(options);
  }

  /** Acts on one message, or on a topic as a whole, and records it in the audit log. */
  async #act<T>(
    action: AuditedAction,
    topic: TopicRef,
    given: object,
    options: ActionOptions,
    act: () => Promise<T>,
  ): Promise<T> {
    const actor = actorOf(options);
    const about = () => ({ topic: checkedTopicName(topic), actor, given: { ...given } });
    return this.#audit.around({ action, about }, act);
  }

  /** The same in steps; a dry run is not recorded. */
  async #actOnMany<T>(
    action: AuditedAction,
    topic: TopicRef,
    meant: object,
    options: BulkOptions,
    act: (begin: () => Promise<void>) => Promise<T>,
  ): Promise<T> {
    if ((options as BulkOptions | null)?.dryRun) return act(async () => {});
    const about = () => ({
      topic: checkedTopicName(topic),
      actor: options.actor,
      given: { ...meant, ...shownOf(options) },
    });
    return this.#audit.around({ action, about }, act);
  }

  #served<T>(calls: () => Promise<T>): Promise<T> {
    return served(this.#dependencies, calls);
  }
}

/** Returns the selection of messages as the audit log records it: an id, an id and key, or a filter. */
function shownRef(which: string | object): object {
  return typeof which === 'string' ? { id: which } : which;
}

/** Whether it selects one message, rather than those that match a filter. */
function isOne(which: MessageRef | MessageFilter): which is MessageRef {
  return typeof which !== 'object' || which === null || 'id' in which;
}

/** Returns the options of an action that are recorded; a payload may be a secret. */
function shownOf({ delay, rate, inFlight, payload }: RequeueOptions & CancelManyOptions): object {
  return { delay, rate, inFlight, payload: payload === undefined ? undefined : 'replaced' };
}
