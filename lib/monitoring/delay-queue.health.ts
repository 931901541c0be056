import type { Broker, UnreachableServer } from '../store/broker.interface.js';
import type { Clock } from '../time/clock.js';
import { shareClass } from '../package-copies.js';
import type { UnhandledTopicError } from '../errors/operation.errors.js';
import { parseDuration } from '../time/duration.js';
import { assertOptions } from '../checks/validate.js';
import { counted } from '../log.js';
import { within } from '../time/deadline.js';
import { liveSessions } from '../fleet/live-processes.js';
import type { AbandonedRuns } from '../fleet/abandoned-run.interface.js';
import { isQuiet, type PartitionProgress, type Progress, type TopicProgress } from '../fleet/progress.js';
import type { TopicRegistry } from '../fleet/topic.registry.js';
import type { UnhandledTopics } from './unhandled-topics.js';
import type {
  ConnectionHealth,
  HealthCheckOptions,
  HealthReport,
  OverdueMessages,
  SessionHealth,
  TopicHealth,
} from './health-report.interface.js';
import type { PartitionStats } from '../store/messages/partition-counts.js';

/** State of a partition in Redis; `undefined` if unknown. */
type Look = PartitionStats | undefined;

interface TopicInspectorOptions {
  readonly broker: Broker;
  readonly clock: Clock;
  /** Time without an answer after which a process counts as stalled, in milliseconds; see {@link patienceOf}. */
  readonly patience: number;
}

interface InspectedTopic {
  readonly topic: string;
  /** Number of its partitions. */
  readonly partitions: number;
}

/** Compares the state of a topic in Redis with the progress of this process. */
class TopicInspector {
  readonly #options: TopicInspectorOptions;

  constructor(options: TopicInspectorOptions) {
    this.#options = options;
  }

  /**
   * @param progressOf returns this process's progress on the topic; called after Redis has answered, so that it is not older
   * @param live sessions; `undefined` if unknown, such as while their part of a Cluster is away
   * @param timeout time limit in milliseconds
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

  /** Returns the states that are known once every partition has answered, or time is up. */
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

  /** @param looks states of this process's partitions, by their numbers */
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

const MAX_TIMEOUT = 60_000;

interface HealthDependencies {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly topics: Pick<TopicRegistry, 'knownPartitions'>;
  readonly unhandled: Pick<UnhandledTopics, 'unhandled' | 'refresh'>;
  /** Topics to check in addition to those that this process handles. */
  readonly configured: readonly string[];
  /** Progress of this process; `undefined` if it only publishes, or has not begun to consume. */
  readonly progress: () => Progress | undefined;
  /** Number of this process's outcomes that wait until Redis has room. */
  readonly waitingForRoom: () => number;
  /** Handler calls of this process that still run although their time is up. */
  readonly abandoned: () => AbandonedRuns;
  /** See {@link TopicInspectorOptions.patience}. */
  readonly patience: number;
}

/**
 * Checks whether this process works: Redis answers, signals arrive, overdue messages are being claimed, and every partition has an owner.
 * Inject it anywhere.
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
   * Checks now: one call, one subscription for each partition of this process, and one short script for each partition of each topic.
   * Problems are in the report, and do not make the call reject.
   *
   * @throws InvalidArgumentError if an option is wrong
   */
  async check(options: HealthCheckOptions = {}): Promise<HealthReport> {
    assertOptions('The options of check', options, ['timeout']);
    const timeout = parseDuration('timeout', options.timeout ?? '2s', { min: 1, max: MAX_TIMEOUT });
    const { broker, clock, unhandled, waitingForRoom } = this.#dependencies;
    const live = within(clock, timeout, liveSessions(broker)).catch(() => undefined);
    const [connection, found] = await Promise.all([
      this.#connection(timeout),
      Promise.all(
        this.#topics().map((topic) =>
          this.#inspector.inspect(topic, () => this.#progressOf(topic.topic), live, timeout),
        ),
      ),
      within(clock, timeout, unhandled.refresh()).catch(() => {}),
    ]);
    // Without a connection there is no progress either, but the process is not stuck, and a restart would not help.
    const topics = connection.status === 'up' ? found : found.map((topic) => ({ ...topic, stalled: false }));
    const session = this.#session(connection.status === 'up' && (await live) !== undefined);
    const failures = failuresOf(connection, session, topics);
    const abandoned = this.#dependencies.abandoned();
    const impairments = impairmentsOf({
      connection,
      servers: broker.link.unreachable,
      session,
      topics,
      unhandled: unhandled.unhandled,
      waitingForRoom: waitingForRoom(),
      abandoned,
    });
    return {
      status: failures.length > 0 ? 'down' : impairments.length > 0 ? 'degraded' : 'up',
      problems: [...failures, ...impairments],
      connection,
      session,
      clockOffset: broker.now() - Date.now(),
      topics,
      unhandled: unhandled.unhandled.map(({ topic }) => topic),
      abandoned,
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

  /** @param couldBeRenewed whether the part of Redis that keeps sessions answers */
  #session(couldBeRenewed: boolean): SessionHealth | undefined {
    const { clock, progress, patience } = this.#dependencies;
    const { renewedAt, failedAt, topics } = progress() ?? { renewedAt: 0, failedAt: undefined, topics: [] };
    if (topics.length === 0) return undefined;
    const now = clock.now();
    return {
      status: isQuiet(now, patience, renewedAt) ? 'down' : 'up',
      renewedAt: new Date(renewedAt),
      stalled: couldBeRenewed && isQuiet(now, patience, renewedAt, failedAt),
    };
  }

  #topics(): InspectedTopic[] {
    const { topics, configured, progress } = this.#dependencies;
    const names = new Set([...(progress()?.topics ?? []).map(({ topic }) => topic), ...configured]);
    return [...names].flatMap((topic) => {
      const partitions = topics.knownPartitions(topic);
      // The number is unknown while the application boots, or if the boot has failed.
      return partitions === undefined ? [] : [{ topic, partitions }];
    });
  }

  #progressOf(name: string) {
    return this.#dependencies.progress()?.topics.find(({ topic }) => topic === name);
  }
}

/** Returns a sentence about the handlers that still run although their time is up, if there are any. */
function overtimeOf({ count, oldest }: AbandonedRuns): string[] {
  const [first] = oldest;
  if (!first) return [];
  const { handler, topic, overtime } = first;
  return [
    `${counted(count, 'handler call')} of this process ${count === 1 ? 'goes' : 'go'} on although ` +
      `${count === 1 ? 'its' : 'their'} time is up; the first is ${handler} of topic '${topic}', ${overtime} ms ago`,
  ];
}

/** Returns the problems that keep this process from working, a sentence each. */
function failuresOf(
  connection: ConnectionHealth,
  session: SessionHealth | undefined,
  topics: readonly TopicHealth[],
): string[] {
  if (connection.status === 'down') return [`Redis cannot be reached: ${connection.error}`];
  const ofTopics = topics
    .filter(({ stalled }) => stalled)
    .map(({ topic }) => `Topic '${topic}': this process makes no progress, though it is connected`);
  return [...(session?.stalled ? ['This process sends no heartbeats, though it is connected'] : []), ...ofTopics];
}

interface Findings {
  readonly connection: ConnectionHealth;
  /** Unreachable servers of a Cluster. */
  readonly servers: readonly UnreachableServer[];
  readonly session: SessionHealth | undefined;
  readonly topics: readonly TopicHealth[];
  readonly unhandled: readonly UnhandledTopicError[];
  /** Number of outcomes that wait until Redis has room. */
  readonly waitingForRoom: number;
  readonly abandoned: AbandonedRuns;
}

/** Returns the problems that make messages wait or late, here or elsewhere, a sentence each. */
function impairmentsOf(findings: Findings): string[] {
  const { connection, servers, session, topics, unhandled, waitingForRoom, abandoned } = findings;
  if (connection.status === 'down') return overtimeOf(abandoned);
  const ofServers = servers.map(
    ({ address, since, error }) =>
      `Redis at ${address} cannot be reached since ${since.toISOString()}: ${error.message}`,
  );
  const ofTopics = topics.flatMap(({ topic, unowned, unreachable, stopped, starved }) => [
    // If its intake was stopped here and no other process handles it, missing owners are intended.
    ...(unowned.length > 0 && !stopped ? [`Topic '${topic}': no process owns partitions ${unowned.join(', ')}`] : []),
    ...(unreachable.length > 0
      ? [`Topic '${topic}': Redis does not answer for partitions ${unreachable.join(', ')}`]
      : []),
    ...(starved ? [`Topic '${topic}': what its limits permit is over before this process can call the handler`] : []),
  ]);
  const ofUnhandled = unhandled.map(({ topic, suggestion }) => {
    const meant = suggestion === undefined ? '' : `; did you mean '${suggestion}'?`;
    return `Topic '${topic}': this process publishes to it, and no process handles it${meant}`;
  });
  const ofSession =
    session?.status === 'down' && !session.stalled
      ? ['The session of this process cannot be renewed, so that no partition moves']
      : [];
  const ofSignals = connection.signals === 'down' ? ['Signals do not come through'] : [];
  const ofRoom =
    waitingForRoom > 0
      ? [`Redis is full: ${counted(waitingForRoom, 'outcome')} of this process wait until there is room`]
      : [];
  return [...ofServers, ...ofSignals, ...ofSession, ...ofRoom, ...ofTopics, ...ofUnhandled, ...overtimeOf(abandoned)];
}
