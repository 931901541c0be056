import type { Broker } from '../store/broker.interface.js';
import type { PartitionStats } from '../store/messages/partition-counts.js';
import type { Clock } from '../time/clock.js';
import type { Log } from '../log.js';
import { serveWithin } from '../store/calls/serve.js';
import { liveSessions } from '../fleet/live-processes.js';
import { type ReceiverState, seenReceivers } from '../fleet/receivers.js';
import { partitionsOf } from '../store/partitions.js';
import type { TopicProgress } from '../fleet/progress.js';
import type { MetricsReading, TopicBacklog, TopicConsumption } from './delay-queue-metrics.interface.js';

/** Time for which a reading serves further scrapes, in milliseconds. */
const FRESH = 1000;

/** Time limit for a reading, in milliseconds; Prometheus gives up a scrape after 10 s. */
const TIMEOUT = 2000;

export interface MetricsReaderOptions {
  readonly store: Pick<Broker, 'messages' | 'fleet' | 'records' | 'now'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Number of partitions of every topic that this process has used. */
  readonly topics: () => ReadonlyMap<string, number>;
  readonly consumed: () => readonly TopicProgress[];
}

/**
 * Reads the gauges. One process reads the state of a topic in Redis: the owner of partition 0. While that partition has no owner, every
 * process that uses the topic reads it.
 */
export class MetricsReader {
  readonly #options: MetricsReaderOptions;
  #reading: Promise<MetricsReading> | undefined;
  #latest: { readonly at: number; readonly reading: MetricsReading } | undefined;
  /** Whether the latest reading failed; one warning is enough. */
  #failing = false;

  constructor(options: MetricsReaderOptions) {
    this.#options = options;
  }

  /** Takes a reading. Never rejects. Calls during a reading, or within a second after it, get that reading. */
  async read(): Promise<MetricsReading> {
    const { clock } = this.#options;
    if (this.#latest && clock.now() - this.#latest.at < FRESH) return this.#latest.reading;
    this.#reading ??= this.#take().then((reading) => {
      this.#latest = { at: clock.now(), reading };
      this.#reading = undefined;
      return reading;
    });
    return this.#reading;
  }

  async #take(): Promise<MetricsReading> {
    const { store, topics } = this.#options;
    const consumed = new Map(this.#options.consumed().map((one) => [one.topic, one]));
    const backlogs = await this.#backlogs(consumed);
    return {
      up: backlogs !== undefined,
      // Not the process's own clock: applications compute `deliverAt` with the machine's, which may have been set meanwhile.
      clockOffset: (store.now() - Date.now()) / 1000,
      topics: Array.from(topics().keys(), (topic) => {
        const own = consumed.get(topic);
        return {
          topic,
          consumed: own && consumptionOf(own, this.#options.clock.now()),
          backlog: backlogs?.get(topic),
        };
      }),
    };
  }

  /** @returns the backlogs of the topics that this process has to report; `undefined` if Redis did not answer */
  async #backlogs(consumed: ReadonlyMap<string, TopicProgress>): Promise<Map<string, TopicBacklog> | undefined> {
    const { clock, log } = this.#options;
    try {
      const backlogs = await serveWithin(clock, TIMEOUT, () => this.#readAll(consumed));
      this.#failing = false;
      return backlogs;
    } catch (error) {
      if (!this.#failing) log.warn(`Metrics of what waits in Redis are missing: ${(error as Error).message}`);
      this.#failing = true;
      return undefined;
    }
  }

  async #readAll(consumed: ReadonlyMap<string, TopicProgress>): Promise<Map<string, TopicBacklog>> {
    const { store, topics } = this.#options;
    const backlogs = new Map<string, TopicBacklog>();
    if (topics().size === 0) return backlogs;
    const live = await liveSessions(store);
    const sessions = [...live];
    const reported = await store.records.reportedProcesses(sessions);
    const told = sessions.map((session, i) => ({ session, receivers: reported[i]?.state?.receivers }));
    const receivers = seenReceivers(told, store.now());
    const receiversOf = (topic: string, wanted: ReceiverState): number =>
      receivers.filter((one) => one.topic === topic && one.state === wanted).length;
    const hasOwner = ({ owner }: PartitionStats): boolean => owner !== undefined && live.has(owner);
    for (const [topic, partitions] of topics()) {
      const first = await store.messages.stats({ topic, index: 0 });
      const isOwn = consumed.get(topic)?.owned.some(({ partition }) => partition === 0);
      if (hasOwner(first) && !isOwn) continue;
      const [, ...others] = partitionsOf(topic, partitions);
      const all = [first, ...(await Promise.all(others.map((partition) => store.messages.stats(partition))))];
      backlogs.set(topic, {
        ...toBacklog(all, (index) => store.now({ topic, index })),
        unownedPartitions: all.filter((stats) => !hasOwner(stats)).length,
        busyReceivers: receiversOf(topic, 'busy'),
        idleReceivers: receiversOf(topic, 'idle'),
      });
    }
    return backlogs;
  }
}

function consumptionOf(progress: TopicProgress, now: number): TopicConsumption {
  const { owned, handling, abandoned, limitedSince, starvedSince } = progress;
  const seconds = (since: number | undefined): number => (since === undefined ? 0 : (now - since) / 1000);
  const [limited, starved] = [seconds(limitedSince), seconds(starvedSince)];
  return { ownedPartitions: owned.length, handling, abandonedRuns: abandoned, limited, starved };
}

/**
 * Adds up the messages in the partitions of a topic.
 *
 * @param nowOf returns the time of the clock that decides about a partition, in epoch milliseconds
 */
function toBacklog(
  partitions: readonly PartitionStats[],
  nowOf: (index: number) => number,
): Omit<TopicBacklog, 'unownedPartitions' | 'busyReceivers' | 'idleReceivers'> {
  const sum = (value: (stats: PartitionStats) => number): number =>
    partitions.reduce((total, stats) => total + value(stats), 0);
  return {
    scheduled: sum(({ scheduled }) => scheduled),
    due: sum(({ due }) => due),
    blocked: sum(({ blocked }) => blocked),
    dead: sum(({ dead }) => dead),
    finished: sum(({ finished }) => finished),
    retrying: sum(({ retrying }) => retrying),
    oldestOverdue: Math.max(0, ...partitions.map((stats, index) => overdueSeconds(stats, nowOf(index)))),
    pausedPartitions: sum(({ paused }) => (paused ? 1 : 0)),
    heldPartitions: sum(({ heldUntil }) => (heldUntil === undefined ? 0 : 1)),
  };
}

function overdueSeconds({ due, nextDueAt }: PartitionStats, now: number): number {
  return due === 0 || nextDueAt === undefined ? 0 : (now - nextDueAt) / 1000;
}
