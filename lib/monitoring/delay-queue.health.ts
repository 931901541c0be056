import type { Broker } from '../broker/broker.interface.js';
import type { Clock } from '../time/clock.js';
import { shareClass } from '../package-copies.js';
import type { UnhandledTopicError } from '../errors/operation.errors.js';
import { parseDuration } from '../time/duration.js';
import { assertOptions } from '../checks/validate.js';
import { within } from '../time/deadline.js';
import type { TopicProgress } from '../topics/topic-progress.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import type { UnhandledTopics } from './unhandled-topics.js';
import type { ConnectionHealth, HealthCheckOptions, HealthReport, TopicHealth } from './health-report.interface.js';
import { TopicInspector } from './topic-inspector.js';

const MAX_TIMEOUT = 60_000;

export interface HealthDependencies {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly topics: TopicRegistry;
  readonly unhandled: UnhandledTopics;
  /** Topics to look at in addition to those that this process handles. */
  readonly configured: readonly string[];
  /** What this process does with the topics it handles; empty if it only publishes. */
  readonly progress: () => readonly TopicProgress[];
  /** See {@link TopicInspectorOptions.patience}. */
  readonly patience: number;
}

/**
 * Tells whether this process works: Redis answers, signals come through, overdue messages are being claimed, and every
 * partition has an owner. Inject it anywhere.
 *
 * @example
 * ```ts
 * const { status, problems } = await health.check();
 * if (status === 'down') throw new Error(problems.join('; '));
 * ```
 *
 * @publicApi
 */
export class DelayQueueHealth {
  static {
    shareClass('DelayQueueHealth', this);
  }

  readonly #dependencies: HealthDependencies;
  readonly #inspector: TopicInspector;

  /** @internal */
  constructor(dependencies: HealthDependencies) {
    this.#dependencies = dependencies;
    this.#inspector = new TopicInspector(dependencies);
  }

  /**
   * Looks now: one call, one subscription for each partition of this process, and one short script for each partition of each
   * topic. What is wrong is in the report, and does not make the call reject.
   *
   * @throws InvalidArgumentError if an option is wrong
   */
  async check(options: HealthCheckOptions = {}): Promise<HealthReport> {
    assertOptions('The options of check', options, ['timeout']);
    const timeout = parseDuration('timeout', options.timeout ?? '2s', { min: 1, max: MAX_TIMEOUT });
    const { broker, clock, unhandled } = this.#dependencies;
    const [connection, found] = await Promise.all([
      this.#connection(timeout),
      Promise.all(
        this.#topics().map(({ name, partitions }) =>
          this.#inspector.inspect(name, partitions, () => this.#progressOf(name), timeout),
        ),
      ),
      within(clock, timeout, unhandled.refresh()).catch(() => {}),
    ]);
    // Without a connection there is no progress either, but the process is not stuck, and a restart would mend nothing.
    const topics = connection.status === 'up' ? found : found.map((topic) => ({ ...topic, stalled: false }));
    const failures = failuresOf(connection, topics);
    const impairments = impairmentsOf(connection, topics, unhandled.unhandled);
    return {
      status: failures.length > 0 ? 'down' : impairments.length > 0 ? 'degraded' : 'up',
      problems: [...failures, ...impairments],
      connection,
      clockOffset: broker.now() - Date.now(),
      topics,
      unhandled: unhandled.unhandled.map(({ topic }) => topic),
    };
  }

  async #connection(timeout: number): Promise<ConnectionHealth> {
    const { broker, clock } = this.#dependencies;
    const sentAt = clock.now();
    const [answer, signals] = await Promise.allSettled([
      within(clock, timeout, broker.link.ping()).then(() => clock.now() - sentAt),
      within(clock, timeout, broker.link.listen()),
    ]);
    const isUp = answer.status === 'fulfilled';
    return {
      status: isUp ? 'up' : 'down',
      roundTrip: isUp ? answer.value : undefined,
      signals: signals.status === 'fulfilled' ? 'up' : 'down',
      error: isUp ? undefined : (answer.reason as Error).message,
    };
  }

  #topics(): { name: string; partitions: number }[] {
    const { topics, configured, progress } = this.#dependencies;
    const names = new Set([...progress().map(({ topic }) => topic), ...configured]);
    return [...names].flatMap((name) => {
      const partitions = topics.knownPartitions(name);
      // The number is not known while the application boots, or if the boot has failed.
      return partitions === undefined ? [] : [{ name, partitions }];
    });
  }

  #progressOf(name: string): TopicProgress | undefined {
    return this.#dependencies.progress().find(({ topic }) => topic === name);
  }
}

/** What keeps this process from working, a sentence each. */
function failuresOf(connection: ConnectionHealth, topics: readonly TopicHealth[]): string[] {
  if (connection.status === 'down') return [`Redis cannot be reached: ${connection.error}`];
  return topics
    .filter(({ stalled }) => stalled)
    .map(({ topic }) => `Topic '${topic}': this process makes no progress, though it is connected`);
}

/** What makes messages wait or late, here or elsewhere, a sentence each. */
function impairmentsOf(
  connection: ConnectionHealth,
  topics: readonly TopicHealth[],
  unhandled: readonly UnhandledTopicError[],
): string[] {
  if (connection.status === 'down') return [];
  const ofTopics = topics.flatMap(({ topic, unowned, unreachable }) => [
    ...(unowned.length > 0 ? [`Topic '${topic}': no process owns partitions ${unowned.join(', ')}`] : []),
    ...(unreachable.length > 0
      ? [`Topic '${topic}': Redis does not answer for partitions ${unreachable.join(', ')}`]
      : []),
  ]);
  const ofUnhandled = unhandled.map(({ topic, suggestion }) => {
    const meant = suggestion === undefined ? '' : `; did you mean '${suggestion}'?`;
    return `Topic '${topic}': this process publishes to it, and no process handles it${meant}`;
  });
  return [...(connection.signals === 'down' ? ['Signals do not come through'] : []), ...ofTopics, ...ofUnhandled];
}
