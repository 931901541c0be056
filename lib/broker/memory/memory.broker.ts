import type { Clock } from '../../time/clock.js';
import type {
  Broker,
  BrokerLink,
  CallId,
  DoctorFinding,
  EventLog,
  EventReader,
  NewMessage,
  Partition,
  PartitionSignal,
  PublishResult,
  PublishTerms,
  SessionSignal,
  StoredMessage,
  Unsubscribe,
} from '../broker.interface.js';
import { listDead, removeDead, requeueDead, trimDead, trimFinished } from './dead-letters.js';
import { claim } from './claiming.js';
import { extend, hold, pause, resume, setAside, settle } from './delivering.js';
import {
  type MemoryFleet,
  acquire,
  appendAudit,
  auditRecords,
  configOf,
  configsOf,
  configure,
  forget,
  heartbeat,
  leave,
  permit,
  release,
  rememberTopics,
  report,
  reportWork,
  reportedProcesses,
  reportedWork,
  historyOf,
  rememberedTopics,
  sessions,
  setLimits,
  tell,
  topics,
  waitingForPermits,
} from './fleet.js';
import { countDue, explain, get, locate, messagesIn, peek, stats } from './looking.js';
import { MemoryPartition } from './memory-partition.js';
import { cancel, cancelTagged, clear, edit, publish, reschedule, runNow } from './publishing.js';
import {
  dueSchedules,
  findSchedule,
  getSchedules,
  indexSchedule,
  listSchedules,
  publishOccurrence,
  putSchedule,
  removeSchedule,
  unindexSchedule,
} from './schedules.js';

interface SessionWatcher {
  readonly session: string;
  readonly listener: (signal: SessionSignal) => void;
}

const IN_MEMORY: DoctorFinding = {
  check: 'connection',
  level: 'ok',
  message: 'Messages are kept in the memory of this process, as in tests; there is no Redis to be looked at.',
  advice: '',
};

/**
 * Keeps messages in this process, on a clock that a test can move. Several runtimes may share one instance, as the
 * processes of a fleet share a Redis. No signal is ever lost here, and no connection can fail.
 */
export class MemoryBroker implements Broker {
  cancel = this.#onPartition(cancel);
  cancelTagged = this.#onPartition(cancelTagged);
  reschedule = this.#onPartition(reschedule);
  runNow = this.#onPartition(runNow);
  edit = this.#onPartition(edit);
  clear = this.#onPartition(clear);
  claim = this.#onPartition(claim);
  settle = this.#onPartition(settle);
  extend = this.#onPartition(extend);
  setAside = this.#onPartition(setAside);
  pause = this.#onPartition(pause);
  resume = this.#onPartition(resume);
  hold = this.#onPartition(hold);
  get = this.#onPartition(get);
  explain = this.#onPartition(explain);
  locate = this.#onPartition(locate);
  peek = this.#onPartition(peek);
  stats = this.#onPartition(stats);
  countDue = this.#onPartition(countDue);
  listDead = this.#onPartition(listDead);
  requeueDead = this.#onPartition(requeueDead);
  removeDead = this.#onPartition(removeDead);
  trimDead = this.#onPartition(trimDead);
  trimFinished = this.#onPartition(trimFinished);
  topics = this.#onFleet(topics);
  configure = this.#onFleet(configure);
  setLimits = this.#onFleet(setLimits);
  permit = this.#onFleet(permit);
  waitingForPermits = this.#onFleet(waitingForPermits);
  configOf = this.#onFleet(configOf);
  configsOf = this.#onFleet(configsOf);
  heartbeat = this.#onFleet(heartbeat);
  leave = this.#onFleet(leave);
  forget = this.#onFleet(forget);
  sessions = this.#onFleet(sessions);
  rememberTopics = this.#onFleet(rememberTopics);
  rememberedTopics = this.#onFleet(rememberedTopics);
  report = this.#onFleet(report);
  reportWork = this.#onFleet(reportWork);
  reportedProcesses = this.#onFleet(reportedProcesses);
  reportedWork = this.#onFleet(reportedWork);
  historyOf = this.#onFleet(historyOf);
  appendAudit = this.#onFleet(appendAudit);
  auditRecords = this.#onFleet(auditRecords);
  tell = this.#onFleet(tell);
  acquire = this.#onPartition(acquire);
  release = this.#onPartition(release);
  indexSchedule = this.#onFleet(indexSchedule);
  unindexSchedule = this.#onFleet(unindexSchedule);
  findSchedule = this.#onFleet(findSchedule);
  listSchedules = this.#onFleet(listSchedules);
  getSchedules = this.#onPartition(getSchedules);
  putSchedule = this.#onPartition(putSchedule);
  removeSchedule = this.#onPartition(removeSchedule);
  dueSchedules = this.#onPartition(dueSchedules);
  publishOccurrence = this.#onPartition(publishOccurrence);

  readonly link: BrokerLink = {
    isUp: true,
    ping: async () => {},
    listen: async () => {},
    rebuild: () => {},
    unreachable: [],
  };
  readonly eventLog: EventLog = {
    append: async (entry) => this.#eventReaders.tell((reader) => reader.onEntry({ ...entry, missed: 0 })),
    follow: (reader) => this.#eventReaders.add(reader),
  };
  /** How many replicas there are to confirm a publish. */
  replicas = Infinity;
  readonly #clock: Clock;
  readonly #fleet: MemoryFleet;
  readonly #sessionWatchers = new Listeners<SessionWatcher>();
  readonly #partitions = new Map<
    string,
    { readonly state: MemoryPartition; readonly watchers: Listeners<(signal: PartitionSignal) => void> }
  >();
  readonly #eventReaders = new Listeners<EventReader>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#fleet = {
      clock,
      configs: new Map(),
      permits: new Map(),
      sessions: new Map(),
      handled: new Map(),
      processes: new Map(),
      work: new Map(),
      history: new Map(),
      audit: [],
      schedules: new Map(),
      signal: ({ to, signal }) =>
        this.#sessionWatchers.tell(({ session, listener }) => {
          if (to === undefined || to === session) listener(signal);
        }),
    };
  }

  now(): number {
    return this.#clock.now();
  }

  /** Its clock is the caller's own. */
  onClockStep(): () => void {
    return () => {};
  }

  async connect(): Promise<void> {}

  async inspect(): Promise<DoctorFinding[]> {
    return [IN_MEMORY];
  }

  /** What it has answered takes effect at once; only the answer waits for replicas. */
  async publish(
    partition: Partition,
    call: CallId,
    messages: readonly NewMessage[],
    terms: PublishTerms = {},
  ): Promise<PublishResult[]> {
    const { replicas } = terms;
    const results = publish(this.#partition(partition).state, call, messages, terms);
    if (!replicas) return results;
    if (this.replicas < replicas.min) {
      await new Promise<void>((resolve) => this.#clock.setTimer(replicas.timeout, resolve));
    }
    return results.map((result) => ({ ...result, confirmedBy: this.replicas }));
  }

  async close(): Promise<void> {}

  watchPartition(partition: Partition, listener: (signal: PartitionSignal) => void): Unsubscribe {
    return this.#partition(partition).watchers.add(listener);
  }

  watchSession(session: string, listener: (signal: SessionSignal) => void): Unsubscribe {
    return this.#sessionWatchers.add({ session, listener });
  }

  onAvailable(): () => void {
    return () => {};
  }

  onError(): () => void {
    return () => {};
  }

  get knownTopics(): string[] {
    return topics(this.#fleet);
  }

  /** All that a topic holds in this state, in order of {@link StoredMessage.at}. */
  list(
    topic: string,
    state: StoredMessage['state'],
  ): { readonly partition: Partition; readonly stored: StoredMessage }[] {
    const { partitions = 0 } = configOf(this.#fleet, topic) ?? {};
    const places = Array.from({ length: partitions }, (_, index): Partition => ({ topic, index }));
    return places
      .flatMap((partition) =>
        messagesIn(this.#partition(partition).state, state).map((stored) => ({ partition, stored })),
      )
      .toSorted((a, b) => a.stored.at - b.stored.at);
  }

  /** Of all topics. */
  forgetFinished(): void {
    for (const { state } of this.#partitions.values()) state.finished.clear();
  }

  #onPartition<A extends unknown[], R>(operation: (partition: MemoryPartition, ...args: A) => R) {
    return async (partition: Partition, ...args: A): Promise<R> => operation(this.#partition(partition).state, ...args);
  }

  #onFleet<A extends unknown[], R>(operation: (fleet: MemoryFleet, ...args: A) => R) {
    return async (...args: A): Promise<R> => operation(this.#fleet, ...args);
  }

  #partition({ topic, index }: Partition) {
    return getOrAdd(this.#partitions, `${topic}:${index}`, () => {
      const watchers = new Listeners<(signal: PartitionSignal) => void>();
      const signal = (message: PartitionSignal): void => watchers.tell((listener) => listener(message));
      return { state: new MemoryPartition({ clock: this.#clock, signal }), watchers };
    });
  }
}

/** Calls whoever listens a moment later, as a connection would. */
class Listeners<L> {
  readonly #all = new Set<L>();

  add(listener: L): Unsubscribe {
    this.#all.add(listener);
    return async () => {
      this.#all.delete(listener);
    };
  }

  tell(call: (listener: L) => void): void {
    for (const listener of this.#all) {
      queueMicrotask(() => {
        if (this.#all.has(listener)) call(listener);
      });
    }
  }
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
