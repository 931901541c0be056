import type { DoctorReport, TopicCounts, TopicStats, WorkMinute } from '../admin/index.js';
import { LATE, oldestOverdueOf } from '../admin/topic-stats.js';
import type { DashboardQueues } from './route.js';

/** A topic in the overview. */
export interface TopicLine extends Omit<TopicCounts, 'counters'> {
  readonly topic: string;
  /** Messages whose time has come and that no process has claimed yet, including blocked ones. */
  readonly overdue: number;
  /** The earliest due time of those. */
  readonly oldestOverdueAt: Date | undefined;
  readonly partitions: number;
  /** Partitions that no living process owns. */
  readonly unowned: number;
  /** Processes that handle it, or take part in it because someone receives there. */
  readonly handlers: number;
  /** Consumers that receive it, and are busy or wait. */
  readonly receivers: number;
  readonly minutes: readonly WorkMinute[];
}

/** A problem. The browser puts it in words, with what to do. */
export type Problem = TopicProblem | RedisProblem | FleetProblem;

export interface TopicProblem {
  readonly kind: 'unreachable' | 'paused' | 'held' | 'no-handler' | 'no-owner' | 'late' | 'blocked' | 'dead';
  readonly topic: string;
  readonly count: number;
  /** End of the hold. */
  readonly until?: Date;
}

/** A finding of the doctor that breaks a promise. */
export interface RedisProblem {
  readonly kind: 'redis';
  readonly check: string;
  readonly message: string;
}

/** No process handles anything, and nobody receives. */
export interface FleetProblem {
  readonly kind: 'no-process';
  /** Number of topics. */
  readonly count: number;
}

export interface Overview {
  readonly at: Date;
  readonly processes: number;
  readonly topics: readonly TopicLine[];
  readonly problems: readonly Problem[];
}

/** @param examine asks the doctor */
export async function lookOver({ admin }: DashboardQueues, examine: () => Promise<DoctorReport>): Promise<Overview> {
  const [counted, fleet, { findings }] = await Promise.all([
    admin.topics().then((names) => admin.statsOf(names)),
    admin.fleet({ minutes: 10 }),
    examine(),
  ]);
  const handlers = new Map<string, number>();
  for (const { topic } of fleet.processes.flatMap(({ topics }) => topics)) {
    handlers.set(topic, (handlers.get(topic) ?? 0) + 1);
  }
  const receivers = new Map<string, number>();
  for (const { topic, state } of fleet.receivers) {
    if (state !== 'gone') receivers.set(topic, (receivers.get(topic) ?? 0) + 1);
  }
  const minutes = new Map(fleet.topics.map((one) => [one.topic, one.minutes]));
  const { at, processes } = fleet;
  const topics: TopicLine[] = [];
  const problems: Problem[] = findings
    // An overview of the wrong prefix or database has nothing else to say.
    .filter(({ check, level }) => level === 'error' || (check === 'prefix' && level === 'warning'))
    .map(({ check, message }) => ({ kind: 'redis', check, message }));
  for (const { topic, stats } of counted) {
    if (!stats) {
      problems.push({ kind: 'unreachable', topic, count: 0 });
      continue;
    }
    const there = { handlers: handlers.get(topic) ?? 0, receivers: receivers.get(topic) ?? 0 };
    const line = toLine(stats, there, minutes.get(topic) ?? []);
    topics.push(line);
    if (stats.unreachable.length > 0) problems.push({ kind: 'unreachable', topic, count: stats.unreachable.length });
    problems.push(...problemsOf(line, at));
  }
  const isNobodyThere = handlers.size + receivers.size === 0 && problems.every(({ kind }) => kind !== 'no-handler');
  if (isNobodyThere && counted.length > 0) problems.push({ kind: 'no-process', count: counted.length });
  return { at, processes: processes.length, topics, problems };
}

function toLine(
  { counters: _counters, unreachable: _unreachable, partitions, ...stats }: TopicStats,
  there: Pick<TopicLine, 'handlers' | 'receivers'>,
  minutes: readonly WorkMinute[],
): TopicLine {
  const unowned = partitions.filter(({ owner }) => owner === undefined).length;
  const overdue = stats.due + stats.blockedDue;
  return {
    ...stats,
    overdue,
    oldestOverdueAt: oldestOverdueOf(stats),
    partitions: partitions.length,
    unowned,
    ...there,
    minutes,
  };
}

function problemsOf(line: TopicLine, at: Date): TopicProblem[] {
  const { topic, scheduled, due, blockedDue, overdue, dead, paused, heldUntil, handlers, receivers, unowned } = line;
  const problems: TopicProblem[] = [];
  const add = (kind: TopicProblem['kind'], count: number): number => problems.push({ kind, topic, count });
  const isLate = (dueAt: Date | undefined): boolean => dueAt !== undefined && at.getTime() - dueAt.getTime() > LATE;
  if (paused) add('paused', overdue);
  else if (heldUntil !== undefined && heldUntil > at)
    problems.push({ kind: 'held', topic, count: overdue, until: heldUntil });
  else if (handlers + receivers === 0 && scheduled > 0) add('no-handler', scheduled);
  // No process has to own the partitions of a received topic while all of its receivers are busy.
  else if (unowned > 0 && receivers === 0 && scheduled > 0) add('no-owner', unowned);
  else {
    if (isLate(line.oldestDueAt)) add('late', due);
    if (isLate(line.oldestBlockedDueAt)) add('blocked', blockedDue);
  }
  if (dead > 0) add('dead', dead);
  return problems;
}
