import type { Clock } from '../../time/clock.js';
import type {
  Broker,
  BrokerLink,
  EventLog,
  EventReader,
  Partition,
  PartitionSignal,
  StoredMessage,
  Unsubscribe,
} from '../broker.interface.js';
import { listDead, removeDead, requeueDead, trimDead } from './dead-letters.js';
import { claim, extend, pause, resume, setAside, settle } from './delivering.js';
import { type MemoryTopic, acquire, configOf, configure, hasMembers, join, leave, release, renew } from './groups.js';
import { get, locate, messagesIn, peek, stats } from './looking.js';
import { MemoryPartition } from './memory-partition.js';
import { cancel, clear, edit, publish, reschedule, runNow } from './publishing.js';

/**
 * Keeps messages in this process, on a clock that a test can move. Several runtimes may share one instance, as the
 * processes of a fleet share a Redis. No signal is ever lost here, and no connection can fail.
 */
export class MemoryBroker implements Broker {
  publish = this.#onPartition(publish);
  cancel = this.#onPartition(cancel);
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
  get = this.#onPartition(get);
  locate = this.#onPartition(locate);
  peek = this.#onPartition(peek);
  stats = this.#onPartition(stats);
  listDead = this.#onPartition(listDead);
  requeueDead = this.#onPartition(requeueDead);
  removeDead = this.#onPartition(removeDead);
  trimDead = this.#onPartition(trimDead);
  configure = this.#onTopic(configure);
  configOf = this.#onTopic(configOf);
  join = this.#onTopic(join);
  leave = this.#onTopic(leave);
  hasMembers = this.#onTopic(hasMembers);
  acquire = this.#onPartition(acquire);
  renew = this.#onPartition(renew);
  release = this.#onPartition(release);

  readonly link: BrokerLink = { isUp: true, ping: async () => {}, listen: async () => {}, rebuild: () => {} };
  readonly eventLog: EventLog = {
    append: async (entry) => this.#eventReaders.tell((reader) => reader.onEntry({ ...entry, missed: 0 })),
    follow: (reader) => this.#eventReaders.add(reader),
  };
  readonly #clock: Clock;
  readonly #topics = new Map<string, { readonly state: MemoryTopic; readonly watchers: Listeners<() => void> }>();
  readonly #partitions = new Map<
    string,
    { readonly state: MemoryPartition; readonly watchers: Listeners<(signal: PartitionSignal) => void> }
  >();
  readonly #eventReaders = new Listeners<EventReader>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  async connect(): Promise<void> {}

  async close(): Promise<void> {}

  async topics(): Promise<string[]> {
    return this.knownTopics.filter((topic) => this.#topic(topic).state.config).toSorted();
  }

  watchPartition(partition: Partition, listener: (signal: PartitionSignal) => void): Unsubscribe {
    return this.#partition(partition).watchers.add(listener);
  }

  watchMembers(topic: string, listener: () => void): Unsubscribe {
    return this.#topic(topic).watchers.add(listener);
  }

  onAvailable(): () => void {
    return () => {};
  }

  onError(): () => void {
    return () => {};
  }

  /** The topics that were asked for so far, whether or not they have a configuration. */
  get knownTopics(): string[] {
    return [...this.#topics.keys()];
  }

  /** All that a topic holds in this state, in order of {@link StoredMessage.at}. */
  list(
    topic: string,
    state: StoredMessage['state'],
  ): { readonly partition: Partition; readonly stored: StoredMessage }[] {
    const { partitions = 0 } = this.#topic(topic).state.config ?? {};
    const places = Array.from({ length: partitions }, (_, index): Partition => ({ topic, index }));
    return places
      .flatMap((partition) =>
        messagesIn(this.#partition(partition).state, state).map((stored) => ({ partition, stored })),
      )
      .toSorted((a, b) => a.stored.at - b.stored.at);
  }

  #onPartition<A extends unknown[], R>(operation: (partition: MemoryPartition, ...args: A) => R) {
    return async (partition: Partition, ...args: A): Promise<R> => operation(this.#partition(partition).state, ...args);
  }

  #onTopic<A extends unknown[], R>(operation: (topic: MemoryTopic, ...args: A) => R) {
    return async (topic: string, ...args: A): Promise<R> => operation(this.#topic(topic).state, ...args);
  }

  #partition({ topic, index }: Partition) {
    return getOrAdd(this.#partitions, `${topic}:${index}`, () => {
      const watchers = new Listeners<(signal: PartitionSignal) => void>();
      const signal = (message: PartitionSignal): void => watchers.tell((listener) => listener(message));
      return { state: new MemoryPartition({ clock: this.#clock, signal }), watchers };
    });
  }

  #topic(name: string) {
    return getOrAdd(this.#topics, name, () => {
      const watchers = new Listeners<() => void>();
      const announce = (): void => watchers.tell((listener) => listener());
      return { state: { clock: this.#clock, config: undefined, members: new Map(), announce }, watchers };
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
