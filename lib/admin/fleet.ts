import { MINUTE, MINUTES_KEPT, type ReportedWork, type TopicWork } from '../store/records/process-records.js';
import { type Rules, applyRules, integer, orElse } from '../checks/rules.js';
import { Lateness } from '../fleet/work-meter.js';
import { type LiveProcess, liveProcesses, receiversOf } from '../fleet/live-processes.js';
import type { ReceiverState, SeenReceiver } from '../fleet/receivers.js';
import { type TopicRef, checkedTopicName } from '../messages/topic.js';
import { toDate } from '../time/date.js';
import { within } from '../time/deadline.js';
import { type AdminDependencies, served } from './admin-dependencies.js';

/**
 * Options of `fleet()`.
 *
 * @publicApi
 */
export interface FleetOptions {
  /** Only reports the work for this topic, and those who receive it. All processes are listed anyway. @defaultValue all topics */
  readonly topic?: TopicRef;
  /** How many minutes of work to report, including the current one; 0 to 15. @defaultValue 5 */
  readonly minutes?: number;
}

/**
 * The processes that handle messages, and what they did in the last few minutes; see `DelayQueueAdmin.fleet()`.
 *
 * @publicApi
 */
export interface Fleet {
  /** When this was read, on the Redis server's clock. */
  readonly at: Date;
  /** The live processes that handle messages, or from which they are received, sorted by name. */
  readonly processes: readonly FleetProcess[];
  /** Consumers that receive messages from them, or did so in the last 15 minutes, sorted by topic and name. */
  readonly receivers: readonly FleetReceiver[];
  /** Work of all processes, including those that have gone, by topic. Only topics with any work are listed. */
  readonly topics: readonly FleetTopic[];
}

/**
 * A process that handles messages. Its fields are as old as its latest heartbeat that had something to report, and `undefined` before
 * that.
 *
 * @publicApi
 */
export interface FleetProcess {
  /** Name of the process, `host:pid:uuid`, as in `PartitionStatus.owner` and in fleet events. */
  readonly process: string;
  /** When it began to handle messages. */
  readonly since: Date | undefined;
  /** When it sent its latest heartbeat. */
  readonly renewedAt: Date;
  /** Its version of this library. */
  readonly version: string | undefined;
  /** The Redis server's clock minus the clock of its machine, in milliseconds; it does not have to be near 0. */
  readonly clockOffset: number | undefined;
  /** Most handler calls at once. */
  readonly concurrency: number | undefined;
  /** Handler calls that ran at its latest heartbeat. */
  readonly busy: number | undefined;
  /**
   * How many of its partitions waited for a handler call to end, or for Redis to have room: more than 0 means that the process is
   * saturated.
   */
  readonly waiting: number | undefined;
  /**
   * Whether it publishes its events for the fleet, see the module's option `fleetEvents`.
   *
   * @see docs/reference/events.md#fleet-events
   */
  readonly fleetEvents: boolean | undefined;
  /** The topics that it handles, sorted: each with the `partitions` that it owns. */
  readonly topics: readonly ProcessTopic[];
  /** Its work, minute by minute; the current minute comes last. */
  readonly minutes: readonly WorkMinute[];
}

/**
 * A consumer that receives messages of a topic, in an application or over the gateway, as its processes last reported.
 *
 * @publicApi
 */
export interface FleetReceiver {
  /** The topic that it receives. */
  readonly topic: string;
  /** Its name, the option `consumer` of `receive()`. */
  readonly consumer: string;
  /** `'busy'`: it has messages. `'idle'`: it waits for some, or did so in the last 30 s. `'gone'`: neither; listed for 15 minutes. */
  readonly state: ReceiverState;
  /** Its calls that wait for messages. */
  readonly waiting: number;
  /** Messages that it holds: received, not known to be settled, and with leases that have not ended. */
  readonly holding: number;
  /** When it asked for messages last; now, if it waits for some. */
  readonly seenAt: Date;
  /** The processes from which it receives, sorted. */
  readonly processes: readonly string[];
}

/**
 * A topic that a process handles, or takes part in because someone receives there.
 *
 * @publicApi
 */
export interface ProcessTopic {
  readonly topic: string;
  /** The partitions that it owns, ascending. */
  readonly partitions: readonly number[];
}

/**
 * Work of the fleet for a topic.
 *
 * @publicApi
 */
export interface FleetTopic {
  readonly topic: string;
  /** Minute by minute; the current minute comes last. */
  readonly minutes: readonly WorkMinute[];
}

/**
 * The work of a minute, or of a longer span of the history.
 *
 * @publicApi
 */
export interface WorkMinute {
  /** When it began, on the Redis server's clock. */
  readonly at: Date;
  /** How many of its seconds have passed: 60, or fewer in the current minute. */
  readonly seconds: number;
  /** Messages that were handed to a handler; each attempt counts. */
  readonly delivered: number;
  /** Acknowledgements. */
  readonly acked: number;
  /** Attempts that failed and are repeated, or were put off. */
  readonly retried: number;
  /** Messages that became dead letters. */
  readonly dead: number;
  /**
   * How late messages were handed over, in milliseconds: `p50` and `p99`, up to 19 % too high, and `max`, which is exact; `undefined` if
   * none was.
   */
  readonly lateness: WorkLateness | undefined;
}

/**
 * How late messages were handed over, in milliseconds.
 *
 * @publicApi
 */
export interface WorkLateness {
  /** Half of the messages were not later than this; up to 19 % too high. */
  readonly p50: number;
  /** 99 % of them were not. */
  readonly p99: number;
  /** The exact maximum. */
  readonly max: number;
}

const FLEET_RULES = {
  topic: orElse((_, topic: TopicRef) => checkedTopicName(topic), undefined),
  minutes: orElse(integer(0, MINUTES_KEPT), 5),
} satisfies Rules<FleetOptions>;

/** @throws InvalidArgumentError, BrokerUnavailableError */
export async function lookAtFleet(dependencies: AdminDependencies, options: FleetOptions): Promise<Fleet> {
  const { topic, minutes } = applyRules(FLEET_RULES, 'The options of fleet', options, '');
  const { broker } = dependencies;
  await tellOwn(dependencies);
  const processes = await served(dependencies, () => liveProcesses(broker));
  const now = broker.now();
  const work = await readWork(dependencies, { now, minutes, topic });
  return {
    at: toDate(now),
    receivers: receiversOf(processes, now)
      .filter((one) => topic === undefined || one.topic === topic)
      .map(toReceiver),
    processes: processes.map((process) => ({
      ...toProcess(process),
      minutes: work.map((minute) => toMinute(minute, minute.bySession.get(process.session.session))),
    })),
    topics: [...new Set(work.flatMap(({ byTopic }) => [...byTopic.keys()]))]
      .toSorted()
      .map((name) => ({ topic: name, minutes: work.map((minute) => toMinute(minute, minute.byTopic.get(name))) })),
  };
}

/** Reports what this process did, so that it shows at once. If that fails, the view is no worse than from another process. */
export async function tellOwn({ clock, timeout, reportOwn }: AdminDependencies): Promise<void> {
  if (reportOwn) await within(clock, timeout, reportOwn()).catch(() => {});
}

/** Work done in a minute, by process and by topic. */
interface WorkOfMinute {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly seconds: number;
  readonly bySession: ReadonlyMap<string, readonly ReportedWork[]>;
  readonly byTopic: ReadonlyMap<string, readonly ReportedWork[]>;
}

/** Reads the work of the last minutes; the current minute comes last. */
async function readWork(
  dependencies: AdminDependencies,
  { now, minutes, topic }: { readonly now: number; readonly minutes: number; readonly topic: string | undefined },
): Promise<WorkOfMinute[]> {
  const { broker } = dependencies;
  const last = Math.floor(now / MINUTE);
  const all: WorkOfMinute[] = [];
  for (let minute = last - minutes + 1; minute <= last; minute++) {
    const work = await served(dependencies, () => broker.records.reportedWork(minute, topic));
    const at = minute * MINUTE;
    all.push({
      at,
      seconds: Math.min(MINUTE, now - at) / 1000,
      bySession: groupedBy(work, (one) => one.session),
      byTopic: groupedBy(work, (one) => one.topic),
    });
  }
  return all;
}

function groupedBy(work: readonly ReportedWork[], key: (one: ReportedWork) => string): Map<string, ReportedWork[]> {
  const groups = new Map<string, ReportedWork[]>();
  for (const one of work) {
    const group = groups.get(key(one));
    if (group) group.push(one);
    else groups.set(key(one), [one]);
  }
  return groups;
}

function toProcess({ session, topics, told: { state, holdings } }: LiveProcess): Omit<FleetProcess, 'minutes'> {
  return {
    process: session.session,
    since: state && toDate(state.since),
    renewedAt: toDate(session.at),
    version: state?.version,
    clockOffset: state?.clockOffset,
    concurrency: state?.concurrency,
    busy: state?.busy,
    waiting: state?.waiting,
    fleetEvents: state && state.fleetEvents === true,
    topics: topics.toSorted().map((topic) => ({ topic, partitions: holdings?.[topic] ?? [] })),
  };
}

export function toReceiver({ sessions, seenAt, ...receiver }: SeenReceiver): FleetReceiver {
  return { ...receiver, seenAt: toDate(seenAt), processes: sessions };
}

/** Sums up the work of a span. */
function toMinute({ at, seconds }: Pick<WorkOfMinute, 'at' | 'seconds'>, work: readonly TopicWork[] = []): WorkMinute {
  const sum = (value: (one: TopicWork) => number): number => work.reduce((total, one) => total + value(one), 0);
  const all = new Lateness();
  for (const { lateness, maxLateness } of work) all.merge(lateness, maxLateness);
  const [p50, p99] = [all.quantile(0.5), all.quantile(0.99)];
  return {
    at: toDate(at),
    seconds,
    delivered: sum(({ delivered }) => delivered),
    acked: sum(({ acked }) => acked),
    retried: sum(({ retried }) => retried),
    dead: sum(({ dead }) => dead),
    lateness: p50 === undefined || p99 === undefined ? undefined : { p50, p99, max: all.max },
  };
}

/**
 * Reads the work done for a topic over days, the earliest first; see `DelayQueueAdmin.history()`.
 *
 * @throws BrokerUnavailableError
 */
export async function historyOf(dependencies: AdminDependencies, topic: string): Promise<WorkMinute[]> {
  const { broker } = dependencies;
  await tellOwn(dependencies);
  const now = broker.now();
  const spans = await served(dependencies, () => broker.records.historyOf(topic, Math.floor(now / MINUTE)));
  return spans
    .toSorted((a, b) => a.minute - b.minute || a.span - b.span)
    .map(({ minute, span, ...work }) => {
      const at = minute * MINUTE;
      return toMinute({ at, seconds: Math.min(span * MINUTE, now - at) / 1000 }, [work]);
    });
}
