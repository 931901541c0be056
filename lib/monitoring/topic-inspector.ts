import type { Broker } from '../store/broker.interface.js';
import type { PartitionStats } from '../store/messages/partition-counts.js';
import type { Clock } from '../time/clock.js';
import { within } from '../time/deadline.js';
import { type PartitionProgress, type TopicProgress, isQuiet } from '../fleet/progress.js';
import type { OverdueMessages, TopicHealth } from './health-report.interface.js';

/** A partition as Redis has it; `undefined` if that is not known. */
type Look = PartitionStats | undefined;

export interface TopicInspectorOptions {
  readonly broker: Broker;
  readonly clock: Clock;
  /** How long nothing may be answered before a process counts as stalled, in milliseconds; see {@link patienceOf}. */
  readonly patience: number;
}

export interface InspectedTopic {
  readonly topic: string;
  /** How many it has. */
  readonly partitions: number;
}

/** Compares what Redis has of a topic with how far this process has come. */
export class TopicInspector {
  readonly #options: TopicInspectorOptions;

  constructor(options: TopicInspectorOptions) {
    this.#options = options;
  }

  /**
   * @param progressOf what this process does with the topic; called after Redis has answered, so that it is not older
   * @param live the sessions that live; `undefined` if that is not known, such as while their part of a Cluster is away
   * @param timeout milliseconds
   */
  async inspect(
    { topic, partitions }: InspectedTopic,
    progressOf: () => TopicProgress | undefined,
    live: Promise<ReadonlySet<string> | undefined>,
    timeout: number,
  ): Promise<TopicHealth> {
    const [looks, sessions] = await Promise.all([this.#look(topic, partitions, timeout), live]);
    const progress = progressOf();
    const owned = progress?.owned ?? [];
    const numbers = (fits: (look: Look) => boolean): number[] =>
      looks.flatMap((look, index) => (fits(look) ? [index] : []));
    return {
      topic,
      owned: owned.map(({ partition }) => partition),
      unowned: numbers((look) => look !== undefined && !hasOwner(look, sessions)),
      unreachable: numbers((look) => look === undefined),
      paused: looks.some((look) => look?.paused),
      stopped: progress?.stopped ?? false,
      overdue: this.#overdue(
        topic,
        looks.map((look, index) => (owned.some(({ partition }) => partition === index) ? look : undefined)),
      ),
      stalled: owned.some((partition) => this.#isStalled(topic, partition, looks[partition.partition])),
      saturated: owned.some(({ saturated }) => saturated),
      limited: owned.some(({ limited }) => limited) || looks.some((look) => look?.heldUntil !== undefined),
      starved: progress?.starvedSince !== undefined,
    };
  }

  /** What is known once every partition has answered, or time is up. */
  async #look(topic: string, partitions: number, timeout: number): Promise<Look[]> {
    const { broker, clock } = this.#options;
    const looks = Array.from({ length: partitions }, (): Look => undefined);
    const answers = looks.map(async (_, index) => {
      looks[index] = await broker.messages.stats({ topic, index });
    });
    await within(clock, timeout, Promise.allSettled(answers)).catch(() => {});
    // A copy, since late answers must not change what was reported.
    return [...looks];
  }

  /** @param looks at the partitions of this process, by their numbers */
  #overdue(topic: string, looks: readonly Look[]): OverdueMessages | undefined {
    const { broker } = this.#options;
    const late = looks.flatMap((look, index) => {
      if (look === undefined || look.due === 0) return [];
      const { due, nextDueAt = Infinity } = look;
      return [{ due, nextDueAt, lateness: broker.now({ topic, index }) - nextDueAt }];
    });
    if (late.length === 0) return undefined;
    return {
      messages: late.reduce((sum, { due }) => sum + due, 0),
      oldestDueAt: new Date(Math.min(...late.map(({ nextDueAt }) => nextDueAt))),
      lateness: Math.max(0, ...late.map(({ lateness }) => lateness)),
    };
  }

  #isStalled(topic: string, progress: PartitionProgress, look: Look): boolean {
    const { partition: index, answeredAt, failedAt, saturated, limited } = progress;
    if (saturated || limited || look?.nextDueAt === undefined || look.paused || look.heldUntil) return false;
    const { broker, clock, patience } = this.#options;
    return (
      broker.now({ topic, index }) - look.nextDueAt > patience && isQuiet(clock.now(), patience, answeredAt, failedAt)
    );
  }
}

function hasOwner({ owner }: PartitionStats, live: ReadonlySet<string> | undefined): boolean {
  return owner !== undefined && (live === undefined || live.has(owner));
}
