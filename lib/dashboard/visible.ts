import type { Agenda, AuditEntries, Fleet } from '../admin/index.js';
import type { Overview } from './problems.js';
import type { Viewer } from './viewer.js';

// Looks that all viewers share, cut down to the topics that one of them sees.

export function visibleOverview(overview: Overview, viewer: Viewer): Overview {
  if (viewer.seesAllTopics) return overview;
  const { topics, problems } = overview;
  return {
    ...overview,
    topics: topics.filter(({ topic }) => viewer.sees(topic)),
    problems: problems.filter((problem) => 'topic' in problem && viewer.sees(problem.topic)),
  };
}

/** Removes the minutes of each process, which are about all of its topics. */
export function visibleFleet(fleet: Fleet, viewer: Viewer): Fleet {
  if (viewer.seesAllTopics) return fleet;
  const { at, processes, topics } = fleet;
  const receivers = fleet.receivers.filter(({ topic }) => viewer.sees(topic));
  const receivedAt = new Set(receivers.flatMap((one) => one.processes));
  return {
    at,
    receivers,
    processes: processes.flatMap((process) => {
      const seen = process.topics.filter(({ topic }) => viewer.sees(topic));
      const isSeen = seen.length > 0 || receivedAt.has(process.process);
      return isSeen ? [{ ...process, topics: seen, minutes: [] }] : [];
    }),
    topics: topics.filter(({ topic }) => viewer.sees(topic)),
  };
}

export function visibleAgenda(agenda: Agenda, viewer: Viewer): Agenda {
  if (viewer.seesAllTopics) return agenda;
  const { from, to, buckets, unreachable } = agenda;
  const topics = agenda.topics.filter(({ topic }) => viewer.sees(topic));
  const sum = (of: (one: (typeof topics)[number]) => number): number =>
    topics.reduce((total, one) => total + of(one), 0);
  return {
    from,
    to,
    scheduled: sum((one) => one.scheduled),
    overdue: sum((one) => one.overdue),
    earlier: sum((one) => one.earlier),
    later: sum((one) => one.later),
    buckets: buckets.map((bucket, i) => ({ ...bucket, count: sum((one) => one.counts[i] ?? 0) })),
    topics,
    unreachable: unreachable.filter(({ topic }) => viewer.sees(topic)),
  };
}

/** For a viewer who does not see payloads, also removes what others have searched for in them. */
export function visibleAudit({ entries, cursor }: AuditEntries, viewer: Viewer): AuditEntries {
  const seen = entries.filter(({ topic }) => viewer.sees(topic));
  if (viewer.rights.payloads) return { entries: seen, cursor };
  const without = seen.map((entry) => {
    const { text: _text, field: _field, ...given } = entry.given;
    return { ...entry, given };
  });
  return { entries: without, cursor };
}
