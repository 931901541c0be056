import { groupBy } from './group-by.js';
import type { History, ProcessRecord, RecordOf } from './records.js';

type AttemptRecord = Extract<ProcessRecord, { attempt: number }>;

/** One run of a handler. */
export interface Run {
  readonly id: string;
  readonly process: string;
  readonly attempt: number;
  readonly dueAt: number;
  readonly from: number;
  /** When it ended or was aborted, or when a fault killed its process. */
  readonly to: number;
  readonly ok: boolean;
  readonly putOff: boolean;
  readonly settled: RecordOf<'settled'> | undefined;
}

/** The runs in the order of their beginnings. */
export function toRuns(history: History): Run[] {
  const records = history.records.filter((record) => 'attempt' in record);
  const runs = [...groupBy(records, deliveryOf).values()]
    .flatMap((own) => toRunsOfDelivery(history, own))
    .toSorted((a, b) => a.from - b.from);
  const cutShort = firstAfterStops(history, runs);
  return runs.filter((run) => !cutShort.has(run) || run.settled?.outcome !== 'stale');
}

/**
 * A process can be stopped after it has looked at a lease, and before it calls the handler: no process can rule that out. It is so for one
 * run at most, the first when it goes on, and all that can be asked of it is that its settle is refused.
 */
function firstAfterStops({ faults }: History, runs: readonly Run[]): ReadonlySet<Run | undefined> {
  const stops = faults.filter(({ fault }) => fault === 'SIGSTOP');
  // The signals come some time after the fault began, and before it ended.
  return new Set(
    stops.map(({ process, at, until }) => runs.find((run) => run.process === process && run.from > (at + until) / 2)),
  );
}

/**
 * The runs that one process had of one attempt: several if it lost the lease and got the message again.
 *
 * @param records in the order in which the process wrote them; two of one millisecond can belong to two runs
 */
function toRunsOfDelivery({ faults }: History, records: readonly AttemptRecord[]): Run[] {
  const starts = records.flatMap((record, i) => (record.kind === 'delivery-started' ? [i] : []));
  const settles = records.filter((record) => record.kind === 'settled');
  const runs = starts.map((begin, i) => {
    const start = records[begin] as RecordOf<'delivery-started'>;
    // A process never runs a message twice at once.
    const own = records.slice(begin, starts[i + 1]);
    const finish = own.find((record) => record.kind === 'delivery-finished');
    const abort = own.find((record) => record.kind === 'aborted');
    const death = faults.find(({ fatal, process, at }) => fatal && process === start.process && at >= start.at);
    return {
      start,
      ok: finish?.ok === true,
      putOff: finish?.putOff === true,
      decidedAt: Math.min(finish?.at ?? Infinity, abort?.at ?? Infinity),
      diedAt: death?.at ?? Infinity,
    };
  });
  // From the last to the first: the settle of an earlier run may be answered after the next has begun, or ended.
  return runs.toReversed().map(({ start, ok, putOff, decidedAt, diedAt }) => ({
    id: start.id,
    process: start.process,
    attempt: start.attempt,
    dueAt: start.dueAt,
    from: start.at,
    to: Math.min(decidedAt, diedAt),
    ok,
    putOff,
    settled: takeSettle(settles, ok, decidedAt),
  }));
}

/**
 * The settle of a run, which is taken out of those of its delivery. The settle of a run that failed may wait for room in Redis
 * while the message is delivered again, so an acknowledgement belongs to the last run that succeeded, whatever came after it.
 */
function takeSettle(settles: RecordOf<'settled'>[], ok: boolean, decidedAt: number): RecordOf<'settled'> | undefined {
  const acked = ok ? settles.findLastIndex(({ at, outcome }) => at >= decidedAt && outcome === 'acked') : -1;
  const own = acked >= 0 ? acked : settles.findLastIndex(({ at, outcome }) => at >= decidedAt && outcome !== 'acked');
  return own >= 0 ? settles.splice(own, 1)[0] : undefined;
}

function deliveryOf({ process, id, attempt }: AttemptRecord): string {
  return `${process} ${id} ${attempt}`;
}
