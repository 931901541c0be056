import type { Broker } from '../store/broker.interface.js';
import { type FleetSource, handledTopics } from '../fleet/live-processes.js';
import type { Clock } from '../time/clock.js';
import { Loop } from '../time/loop.js';
import type { Log } from '../log.js';
import { nearest } from '../checks/nearest.js';
import { UnhandledTopicError } from '../errors/operation.errors.js';
import type { EventSink } from '../events/queue-events.interface.js';

/** Time from the first publish to a topic until a process checks whether any process handles it, in milliseconds. */
const FIRST_LOOK = 30_000;

/** Shortest interval between checks of a topic, in milliseconds. */
const PACE = 60_000;

export interface UnhandledTopicsOptions {
  readonly store: FleetSource & Pick<Broker, 'fleet'>;
  readonly clock: Clock;
  readonly events: EventSink;
  readonly log: Log;
}

/** Handlers of this process. */
export interface OwnHandlers {
  /** Topics that it handles on this connection. */
  readonly topics: ReadonlySet<string>;
  /** Returns a sentence why this process's handler for the topic does not count; `undefined` if it has none. */
  readonly hint: (topic: string) => string | undefined;
}

/** A topic that this process publishes to and does not handle. */
interface WatchedTopic {
  readonly name: string;
  /** Loop of the checks; rests while none is planned or under way. */
  readonly looks: Loop;
  /** Time of the latest check, on the local clock; `undefined` before the first. */
  lookedAt: number | undefined;
  wasHandled: boolean;
  /** Number of consecutive checks that found no handler. */
  missed: number;
  /** Reported error; it is reported once. */
  told: UnhandledTopicError | undefined;
}

/**
 * Finds topics that this process publishes to and that no process of the fleet handles, for example because a name is misspelt or a
 * provider is not registered. It checks 30 s after the first publish to a topic, and then at most once a minute while the topic is
 * published to. It does not check topics that this process handles itself, or no longer publishes to.
 */
export class UnhandledTopics {
  readonly #options: UnhandledTopicsOptions;
  readonly #watched = new Map<string, WatchedTopic>();
  #own: OwnHandlers | undefined;
  #stopped = false;

  constructor(options: UnhandledTopicsOptions) {
    this.#options = options;
  }

  /** Starts the checks; there are none before, since a process must know its own handlers first. */
  start(own: OwnHandlers): void {
    if (this.#own || this.#stopped) return;
    this.#own = own;
    for (const topic of this.#watched.keys()) this.published(topic);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(Array.from(this.#watched.values(), async ({ looks }) => looks.stop()));
  }

  /** Notes a publish to a topic. Runs after every publish call, so it has to cost next to nothing. */
  published(topic: string): void {
    let watched = this.#watched.get(topic);
    if (!watched) this.#watched.set(topic, (watched = this.#watch(topic)));
    if (this.#stopped || !this.#own || this.#own.topics.has(topic) || !watched.looks.resting) return;
    watched.looks.later(this.#delayOf(watched));
  }

  /** Reported errors of topics that, as far as this process knows, are still not handled. */
  get unhandled(): UnhandledTopicError[] {
    return [...this.#watched.values()].flatMap((watched) =>
      watched.told && isUnhandled(watched) ? [watched.told] : [],
    );
  }

  /** Checks the topics that are known to be unhandled again. If a check fails, the known state stays. */
  async refresh(): Promise<void> {
    const unhandled = [...this.#watched.values()].filter(isUnhandled);
    await Promise.all(unhandled.map(async (watched) => this.#look(watched)));
  }

  #watch(name: string): WatchedTopic {
    const { clock } = this.#options;
    const looks = new Loop({
      clock,
      run: async () => ((await this.#look(watched)) ? undefined : this.#delayOf(watched)),
    });
    const watched: WatchedTopic = { name, looks, lookedAt: undefined, wasHandled: false, missed: 0, told: undefined };
    return watched;
  }

  #delayOf({ lookedAt }: WatchedTopic): number {
    return lookedAt === undefined ? FIRST_LOOK : lookedAt + PACE - this.#options.clock.now();
  }

  /**
   * Checks a topic. Never rejects.
   *
   * @returns whether the next check can wait until the topic is published to again
   */
  async #look(watched: WatchedTopic): Promise<boolean> {
    const { store, clock, events, log } = this.#options;
    const { name: topic } = watched;
    watched.lookedAt = clock.now();
    try {
      const handled = await handledTopics(store);
      if (handled.has(topic)) {
        if (watched.told && isUnhandled(watched)) log.log(`Topic '${topic}' is handled now`);
        watched.wasHandled = true;
        watched.missed = 0;
        return true;
      }
      watched.missed++;
      if (!isUnhandled(watched)) return false;
      if (watched.told || this.#stopped) return true;
      watched.told = new UnhandledTopicError(topic, await this.#meant(topic, handled), this.#own?.hint(topic));
      log.warn(watched.told.message);
      events.emit('errors', { source: 'unhandled', topic, error: watched.told });
      return true;
    } catch (error) {
      if (!this.#stopped) events.emit('errors', { source: 'membership', topic, error });
      return false;
    }
  }

  /** Returns the most similar name among the handled topics. */
  async #meant(topic: string, handled: ReadonlySet<string>): Promise<string | undefined> {
    const own = this.#own?.topics ?? new Set();
    const known = new Set([...own, ...(await this.#options.store.fleet.topics()).filter((name) => handled.has(name))]);
    known.delete(topic);
    return nearest(topic, known);
  }
}

/** A topic that had a handler may have lost it to a restart: then the next check finds one again. */
function isUnhandled({ missed, wasHandled }: WatchedTopic): boolean {
  return missed > (wasHandled ? 1 : 0);
}
