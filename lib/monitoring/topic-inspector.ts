import type { Broker, PartitionStats } from '../broker/broker.interface.js';
import type { Clock } from '../time/clock.js';
import { within } from '../time/deadline.js';
import type { PartitionProgress, TopicProgress } from '../topics/topic-progress.js';
import type { OverdueMessages, TopicHealth } from './health-report.interface.js';

/** A partition as Redis has it; `undefined` if that is not known. */
type Look = PartitionStats | undefined;

export interface TopicInspectorOptions {
  readonly broker: Broker;
  readonly clock: Clock;
  /** How long nothing may be answered before a process counts as stalled, in milliseconds; see {@link patienceOf}. */
  readonly patience: number;
}

/** Compares what Redis has of a topic with how far this process has come. */
export class TopicInspector {
  readonly #options: TopicInspectorOptions;

  constructor(options: TopicInspectorOptions) {
    this.#options = options;
  }

  /**
   * @param progressOf what this process does with the topic; called after Redis has answered, so that it is not older
   * @param timeout milliseconds
   */
  async inspect(
    topic: string,
    partitions: number,
    progressOf: () => TopicProgress | undefined,
    timeout: number,
  ): Promise<TopicHealth> {
    const looks = await this.#look(topic, partitions, timeout);
    const progress = progressOf();
    const owned = progress?.owned ?? [];
    const numbers = (fits: (look: Look) => boolean): number[] =>
      looks.flatMap((look, index) => (fits(look) ? [index] : []));
    return {
      topic,
      owned: owned.map(({ partition }) => partition),
      unowned: numbers((look) => look !== undefined && look.owner === undefined),
      unreachable: numbers((look) => look === undefined),
      paused: looks.some((look) => look?.paused),
      overdue: this.#overdue(owned.map(({ partition }) => looks[partition])),
      stalled:
        this.#isLong(progress?.heartbeatAt) ||
        owned.some((partition) => this.#isStalled(partition, looks[partition.partition])),
      saturated: owned.some(({ saturated }) => saturated),
    };
  }

  /** What is known once every partition has answered, or time is up. */
  async #look(topic: string, partitions: number, timeout: number): Promise<Look[]> {
    const { broker, clock } = this.#options;
    const looks = Array.from({ length: partitions }, (): Look => undefined);
    const answers = looks.map(async (_, index) => {
      looks[index] = await broker.stats({ topic, index });
    });
    await within(clock, timeout, Promise.allSettled(answers)).catch(() => {});
    // A copy, since late answers must not change what was reported.
    return [...looks];
  }

  #overdue(looks: readonly Look[]): OverdueMessages | undefined {
    const late = looks.flatMap((look) => (look !== undefined && look.due > 0 ? [look] : []));
    if (late.length === 0) return undefined;
    const oldest = Math.min(...late.map(({ nextDueAt = Infinity }) => nextDueAt));
    return {
      messages: late.reduce((sum, { due }) => sum + due, 0),
      oldestDueAt: new Date(oldest),
      lateness: Math.max(0, this.#options.broker.now() - oldest),
    };
  }

  #isStalled({ answeredAt, saturated }: PartitionProgress, look: Look): boolean {
    if (saturated || look?.nextDueAt === undefined || look.paused) return false;
    const lateness = this.#options.broker.now() - look.nextDueAt;
    return lateness > this.#options.patience && this.#isLong(answeredAt);
  }

  /** @param since epoch milliseconds on the local clock */
  #isLong(since: number | undefined): boolean {
    return since !== undefined && this.#options.clock.now() - since > this.#options.patience;
  }
}
