import type { Broker } from '../broker/broker.interface.js';
import type { Clock, Timer } from '../time/clock.js';
import type { Log } from '../log.js';
import { nearest } from '../checks/nearest.js';
import { UnhandledTopicError } from '../errors/unhandled-topic.error.js';
import type { EventSink } from '../events/queue-events.interface.js';

/** How long after its first publish to a topic a process looks whether anybody handles it, in milliseconds. */
const FIRST_LOOK = 30_000;

/** Time between two looks at a topic, at least; in milliseconds. */
const PACE = 60_000;

/** Names like that of the topic that are looked at, until one is found that is handled. */
const MAX_SUGGESTIONS = 3;

export interface UnhandledTopicsOptions {
  readonly store: Pick<Broker, 'hasMembers' | 'topics'>;
  readonly clock: Clock;
  readonly events: EventSink;
  readonly log: Log;
}

/** What this process handles itself. */
export interface OwnHandlers {
  /** Topics that it handles on this connection. */
  readonly topics: ReadonlySet<string>;
  /** Why a handler that this process has for the topic does not count, a sentence; `undefined` if it has none. */
  readonly hint: (topic: string) => string | undefined;
}

/** A topic that this process publishes to, and does not handle. */
interface WatchedTopic {
  readonly name: string;
  /** Set while a look is to come or under way. */
  timer: Timer | undefined;
  /** On the local clock; `undefined` before the first look. */
  lookedAt: number | undefined;
  wasHandled: boolean;
  /** Looks in a row that found nobody. */
  missed: number;
  /** What was told; once told, it is not told again. */
  told: UnhandledTopicError | undefined;
}

/**
 * Finds topics that this process publishes to and that no process of the fleet handles, as when a name is misspelled or a
 * provider is not registered. It looks 30 s after the first publish to a topic, and then at most once a minute while the
 * topic is published to: nothing is sent for topics that this process handles itself, or that nobody publishes to.
 */
export class UnhandledTopics {
  readonly #options: UnhandledTopicsOptions;
  readonly #watched = new Map<string, WatchedTopic>();
  #own: OwnHandlers | undefined;
  #stopped = false;

  constructor(options: UnhandledTopicsOptions) {
    this.#options = options;
  }

  /** Nothing is looked at before: until its handlers are known a process cannot tell what it handles itself. */
  start(own: OwnHandlers): void {
    if (this.#own || this.#stopped) return;
    this.#own = own;
    for (const topic of this.#watched.keys()) this.published(topic);
  }

  stop(): void {
    this.#stopped = true;
    for (const { timer } of this.#watched.values()) timer?.cancel();
  }

  /** To be called whenever a call has published to a topic; it has to cost next to nothing. */
  published(topic: string): void {
    let watched = this.#watched.get(topic);
    if (!watched) {
      watched = { name: topic, timer: undefined, lookedAt: undefined, wasHandled: false, missed: 0, told: undefined };
      this.#watched.set(topic, watched);
    }
    if (watched.timer || this.#stopped || !this.#own || this.#own.topics.has(topic)) return;
    this.#lookLater(watched);
  }

  /** What was told of topics that, as far as this process knows, are still not handled. */
  get unhandled(): UnhandledTopicError[] {
    return [...this.#watched.values()].flatMap((watched) =>
      watched.told && isUnhandled(watched) ? [watched.told] : [],
    );
  }

  /** Looks again at the topics that are known as not handled; what cannot be looked at stays as it is known. */
  async refresh(): Promise<void> {
    const unhandled = [...this.#watched.values()].filter(isUnhandled);
    await Promise.all(unhandled.map(async (watched) => this.#look(watched)));
  }

  #lookLater(watched: WatchedTopic): void {
    const { clock } = this.#options;
    const delay = watched.lookedAt === undefined ? FIRST_LOOK : watched.lookedAt + PACE - clock.now();
    watched.timer = clock.setTimer(delay, () => void this.#lookInTurn(watched));
  }

  /** Never rejects. */
  async #lookInTurn(watched: WatchedTopic): Promise<void> {
    const isCertain = await this.#look(watched);
    watched.timer = undefined;
    if (!isCertain && !this.#stopped) this.#lookLater(watched);
  }

  /**
   * Never rejects.
   *
   * @returns whether there is no need to look again before the topic is published to
   */
  async #look(watched: WatchedTopic): Promise<boolean> {
    const { store, clock, events, log } = this.#options;
    const { name: topic } = watched;
    watched.lookedAt = clock.now();
    try {
      if (await store.hasMembers(topic)) {
        if (watched.told && isUnhandled(watched)) log.log(`Topic '${topic}' is handled now`);
        watched.wasHandled = true;
        watched.missed = 0;
        return true;
      }
      watched.missed++;
      if (!isUnhandled(watched)) return false;
      if (watched.told || this.#stopped) return true;
      watched.told = new UnhandledTopicError(topic, await this.#meant(topic), this.#own?.hint(topic));
      log.warn(watched.told.message);
      events.emit('errors', { source: 'unhandled', topic, error: watched.told });
      return true;
    } catch (error) {
      if (!this.#stopped) events.emit('errors', { source: 'membership', topic, error });
      return false;
    }
  }

  /** The name that comes next to that of the topic, among those that are handled. */
  async #meant(topic: string): Promise<string | undefined> {
    const { store } = this.#options;
    const own = this.#own?.topics ?? new Set();
    const known = new Set([...own, ...(await store.topics())]);
    known.delete(topic);
    for (let looked = 0; looked < MAX_SUGGESTIONS; looked++) {
      const name = nearest(topic, known);
      if (name === undefined || own.has(name) || (await store.hasMembers(name))) return name;
      known.delete(name);
    }
    return undefined;
  }
}

/** A topic that had a handler may just have lost it to a restart: then one is there again at the next look. */
function isUnhandled({ missed, wasHandled }: WatchedTopic): boolean {
  return missed > (wasHandled ? 1 : 0);
}
