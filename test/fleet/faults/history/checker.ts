import { groupBy } from './group-by.js';
import { type LimitedRun, tooFast, tooManyAtOnce } from './limits.js';
import { type Turn, outOfTurn } from './order.js';
import type { ClockStep, FaultRecord, History, ProcessRecord, RecordOf } from './records.js';
import { type Run, toRuns } from './runs.js';

/** A promise that a history breaks. */
export interface Violation {
  readonly rule:
    | 'hanging'
    | 'lost'
    | 'duplicate'
    | 'stuck'
    | 'overlap'
    | 'early'
    | 'late'
    | 'rejected'
    | 'stale-settle'
    | 'attempts'
    | 'order'
    | 'rate'
    | 'in-flight'
    | 'two-owners';
  readonly detail: string;
}

/** Processes and Redis share a machine and so a clock, which is read in whole milliseconds. */
const CLOCK_GRAIN = 1;

/**
 * How long before its handler began a delivery may have been claimed, and how long the clock of Redis may be read before a
 * handler begins, in milliseconds.
 */
const CLAIM_GRAIN = 1000;

/** How late a timer may fire on a busy machine, in milliseconds. */
const SCHEDULING_GRAIN = 1000;

/** Returns the promises that a history breaks. */
export function check(history: History): Violation[] {
  const runs = toRuns(history);
  const runsById = groupBy(runs, ({ id }) => id);
  return [
    ...checkNothingHangs(history),
    ...checkNothingLost(history, runsById),
    ...checkUniqueIds(history),
    ...checkNothingStuck(history),
    ...checkNoOverlap(history, runsById),
    ...checkNothingEarly(history, runs),
    ...checkStaleSettles(history, runsById),
    ...checkAttempts(history, runsById),
    ...checkOrder(history, runsById),
    ...checkLimits(history, runs),
    ...checkOwners(history),
  ];
}

/** How often a history breaks a rule only by what Redis had lost, which {@link check} excuses. */
export function excusedByLosses(history: History): ReadonlyMap<Violation['rule'], number> {
  const found = groupBy(check(history), ({ rule }) => rule);
  const withoutExcuse = groupBy(check({ ...history, losses: [] }), ({ rule }) => rule);
  const excused = [...withoutExcuse].map(([rule, all]) => [rule, all.length - (found.get(rule)?.length ?? 0)] as const);
  return new Map(excused.filter(([, count]) => count > 0));
}

/** Every publish is confirmed or rejected in time, which a process that keeps its own event loop busy has twice. */
function checkNothingHangs(history: History): Violation[] {
  const called = groupBy(recordsOf(history, 'publish-called'), ({ id }) => id);
  return recordsOf(history, 'publish-failed').flatMap(({ id, at }) => {
    const waited = at - (called.get(id)?.[0]?.at ?? at);
    if (waited <= 2 * history.publishTimeout + SCHEDULING_GRAIN) return [];
    return [violation('hanging', `${id} was rejected only after ${waited} ms`)];
  });
}

/** Every confirmed publish that Redis kept ends as handled, dead or cancelled. */
function checkNothingLost(history: History, runsById: ReadonlyMap<string, Run[]>): Violation[] {
  const cancelled = new Set(
    recordsOf(history, 'cancelled').flatMap(({ id, result }) => (result === 'not-found' ? [] : [id])),
  );
  const called = new Map(recordsOf(history, 'publish-called').map(({ id, at }) => [id, at]));
  return recordsOf(history, 'publish-confirmed')
    .filter(({ id }) => !history.final.has(id) && !cancelled.has(id))
    .filter(({ id, at }) => !wasLost(history, called.get(id) ?? at, at))
    .filter(({ id }) => !runsById.get(id)?.some((run) => run.ok || run.settled?.outcome === 'dead'))
    .map(({ id }) => violation('lost', `${id} was confirmed, never handled, and is gone`));
}

/** No id is accepted twice: programs publish one again only while the first message surely exists. */
function checkUniqueIds(history: History): Violation[] {
  return [...groupBy(recordsOf(history, 'publish-confirmed'), ({ id }) => id)]
    .filter(([, confirmed]) => confirmed.length > 1)
    .map(([id, confirmed]) => violation('duplicate', `${id} was accepted ${confirmed.length} times`));
}

/** At the end, nothing waits or is in flight. */
function checkNothingStuck({ final }: History): Violation[] {
  return [...final]
    .filter(([, state]) => state !== 'dead')
    .map(([id, state]) => violation('stuck', `${id} is still ${state}`));
}

/** No two runs of one message overlap while the lease of the earlier one surely held. */
function checkNoOverlap(history: History, runsById: ReadonlyMap<string, Run[]>): Violation[] {
  const violations: Violation[] = [];
  for (const [id, runs] of runsById) {
    for (const [i, earlier] of runs.entries()) {
      for (const later of runs.slice(i + 1)) {
        if (later.from >= earlier.to) continue;
        const sameProcess = later.process === earlier.process;
        if (!sameProcess && (couldLoseLease(history, earlier, later.from) || lostClaim(history, earlier))) continue;
        violations.push(
          violation(
            'overlap',
            `${id} ran in ${earlier.process} from ${earlier.from} to ${earlier.to}, and in ${later.process} from ${later.from}`,
          ),
        );
      }
    }
  }
  return violations;
}

function checkNothingEarly({ clockSteps = [] }: History, runs: readonly Run[]): Violation[] {
  return runs.flatMap(({ id, from, dueAt }) => {
    const early = dueAt - (from + latestOffset(clockSteps, from));
    return early > CLOCK_GRAIN ? [violation('early', `${id} ran ${early} ms before it was due`)] : [];
  });
}

/** How far the servers' clock was ahead; if it was set just now, at most. */
function latestOffset(steps: readonly ClockStep[], at: number): number {
  const inForce = [{ at: -Infinity, offset: 0 }, ...steps].filter(
    (step, i, all) => step.at <= at && (all[i + 1]?.at ?? Infinity) > at - CLAIM_GRAIN,
  );
  return Math.max(...inForce.map(({ offset }) => offset));
}

/**
 * A late settle changes nothing: the process that has the message then can still settle it. It is late once the message was
 * handed out again, whatever number the later delivery has.
 */
function checkStaleSettles(history: History, runsById: ReadonlyMap<string, Run[]>): Violation[] {
  const violations: Violation[] = [];
  for (const [id, runs] of runsById) {
    const last = runs.at(-1);
    const undisturbed = last && !wasDisturbed(history, last.process, last.from, last.settled?.at ?? last.to);
    if (undisturbed && last.settled?.outcome === 'stale' && !recordsOf(history, 'cancelled').some((r) => r.id === id)) {
      violations.push(
        violation('stale-settle', `the last delivery of ${id} was undisturbed, yet its settle was refused`),
      );
    }
    const acked = runs.find(({ settled }) => settled?.outcome === 'acked');
    const after = acked && runs.find((run) => run.from > acked.from || isLaterAttempt(history, run, acked));
    if (after && !wasLost(history, acked.to, acked.settled?.at ?? acked.to)) {
      violations.push(
        violation(
          'stale-settle',
          `attempt ${acked.attempt} of ${id} was acked by ${acked.process}, yet ${after.process} had attempt ${after.attempt}`,
        ),
      );
    }
  }
  return violations;
}

/** Attempts that Redis has forgotten come again. */
function isLaterAttempt(history: History, run: Run, than: Run): boolean {
  return run.attempt > than.attempt && !lostClaim(history, run);
}

/**
 * Attempts count up one by one; one may be missing, or come again, only if a process or a connection was disturbed. What was put
 * off comes again, too.
 */
function checkAttempts(history: History, runsById: ReadonlyMap<string, Run[]>): Violation[] {
  const violations: Violation[] = [];
  for (const [id, runs] of runsById) {
    let before = 0;
    for (const [i, { attempt, from }] of runs.entries()) {
      const gapAllowed = history.faults.some(({ at }) => at <= from);
      // A crash beside others spends no attempt.
      const repeatAllowed = (gapAllowed || runs[i - 1]?.putOff === true) && attempt === before;
      const isLost = runs.slice(0, i).some((earlier) => lostClaim(history, earlier));
      if ((attempt <= before && !repeatAllowed && !isLost) || (attempt > before + 1 && !gapAllowed)) {
        violations.push(violation('attempts', `${id}: attempt ${attempt} came after attempt ${before}`));
      }
      if (attempt > history.attempts)
        violations.push(violation('attempts', `${id}: attempt ${attempt} of ${history.attempts}`));
      before = attempt;
    }
    const dead = runs.find(({ settled }) => settled?.outcome === 'dead' && settled.reason === 'failed');
    if (dead && dead.attempt < history.attempts) {
      violations.push(
        violation('attempts', `${id} died of failures after ${dead.attempt} of ${history.attempts} attempts`),
      );
    }
  }
  return violations;
}

/** Messages of one key are handled one at a time, in order. What was cancelled, or what Redis lost, is left out. */
function checkOrder(history: History, runsById: ReadonlyMap<string, Run[]>): Violation[] {
  if (!history.ordered) return [];
  const cancelled = new Set(recordsOf(history, 'cancelled').map(({ id }) => id));
  // Those without a run, too: their process noted the death after it was stored.
  const deaths = new Map(
    recordsOf(history, 'settled').flatMap(({ id, outcome, at }) =>
      outcome === 'dead' ? [[id, at - CLAIM_GRAIN] as const] : [],
    ),
  );
  const turns = recordsOf(history, 'publish-confirmed').flatMap(({ id, key = id, dueAt, at }): Turn[] => {
    const runs = runsById.get(id) ?? [];
    if (cancelled.has(id) || wasLost(history, at, at) || runs.some((run) => lostClaim(history, run))) return [];
    const last = runs.filter((run) => run.ok || run.settled?.outcome === 'dead').map(({ to }) => to);
    const doneAt = Math.min(deaths.get(id) ?? Infinity, ...last);
    return [{ id, key, dueAt, confirmedAt: at, begins: runs.map(({ from }) => from), doneAt }];
  });
  return outOfTurn(turns, CLAIM_GRAIN).map((detail) => violation('order', detail));
}

/** No more handler calls begin, and no more run at once, than the limits of the topic allow. */
function checkLimits(history: History, runs: readonly Run[]): Violation[] {
  const { limits } = history;
  if (!limits) return [];
  const keys = new Map(recordsOf(history, 'publish-confirmed').map(({ id, key = id }) => [id, key]));
  const limited = runs
    // Redis has forgotten what it had permitted.
    .filter((run) => !lostClaim(history, run))
    .map(({ id, process, from, to }): LimitedRun => {
      // While a process is stopped its handlers do nothing, and before they go on they are told that their leases have ended.
      const stops = history.faults.filter(
        (fault) => fault.fault === 'SIGSTOP' && fault.process === process && fault.at >= from,
      );
      return { id, key: keys.get(id) ?? id, from, to: Math.min(to, ...stops.map(({ at }) => at)) };
    });
  return [
    ...tooFast(limited, limits, CLOCK_GRAIN).map((detail) => violation('rate', detail)),
    ...tooManyAtOnce(limited, limits).map((detail) => violation('in-flight', detail)),
  ];
}

/**
 * No two processes own a partition at once. If the session of a process ends because its heartbeats were late, it learns so
 * at the next one, within a session and as much as a busy machine delays that; until then its claims are refused. A disturbed process may
 * learn it later.
 */
function checkOwners(history: History): Violation[] {
  const violations: Violation[] = [];
  for (const [partition, records] of groupBy(recordsOf(history, 'ownership'), (record) => record.partition)) {
    const intervals = records
      .filter(({ owned }) => owned)
      .map(({ process, at: from }) => {
        const given = records.find((record) => record.process === process && !record.owned && record.at >= from);
        const disturbed = history.faults.find((fault) => hits(fault, process) && fault.at >= from - history.lease);
        return { process, from, to: Math.min(given?.at ?? Infinity, disturbed?.at ?? Infinity) };
      });
    for (const [i, a] of intervals.entries()) {
      for (const b of intervals.slice(i + 1)) {
        const together = Math.min(a.to, b.to) - Math.max(a.from, b.from);
        if (a.process === b.process || together <= history.session + SCHEDULING_GRAIN) continue;
        violations.push(
          violation(
            'two-owners',
            `partition ${partition}: ${a.process} ${a.from}–${a.to}, ${b.process} ${b.from}–${b.to}`,
          ),
        );
      }
    }
  }
  return violations;
}

/** Whether a fault could have cost the process a lease between two moments. */
function wasDisturbed({ faults, lease }: History, process: string, from: number, to: number): boolean {
  return faults.some((fault) => hits(fault, process) && fault.at <= to && fault.until >= from - lease);
}

function couldLoseLease({ faults, ...history }: History, run: Run, until: number): boolean {
  const endingLeases = faults.filter(({ keepsLeases }) => !keepsLeases);
  return wasDisturbed({ ...history, faults: endingLeases }, run.process, run.from, until);
}

/** Whether Redis may have forgotten that it handed this delivery out. */
function lostClaim(history: History, { from }: Run): boolean {
  return wasLost(history, from - CLAIM_GRAIN, from);
}

/** Whether Redis may have lost a change that it made at some time from `earliest` to `latest`. */
function wasLost({ losses = [] }: History, earliest: number, latest: number): boolean {
  return losses.some(({ from, until }) => earliest <= until && latest >= from);
}

function hits(fault: FaultRecord, process: string): boolean {
  return fault.process === undefined || fault.process === process;
}

function recordsOf<K extends ProcessRecord['kind']>({ records }: History, kind: K): RecordOf<K>[] {
  return records.filter((record): record is RecordOf<K> => record.kind === kind);
}

function violation(rule: Violation['rule'], detail: string): Violation {
  return { rule, detail };
}
