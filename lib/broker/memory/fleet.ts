import type { Clock } from '../../time/clock.js';
import {
  type AcquireResult,
  type AuditPage,
  type AuditQuery,
  type AuditRecord,
  type FleetLook,
  type FleetSignal,
  type Heartbeat,
  MINUTES_KEPT,
  type Owner,
  PROTOCOL_VERSION,
  type ProcessReport,
  type ReportedProcess,
  type ReportedWork,
  type SchedulePlace,
  type SessionRecord,
  type SpanOfWork,
  type Limits,
  type PermitReply,
  type PermitRequest,
  type TopicConfig,
  type TopicLimits,
  type TopicList,
  type TopicOrder,
  type WorkReport,
  released,
} from '../broker.interface.js';
import { addedToHistory } from './history.js';
import type { MemoryPartition } from './memory-partition.js';
import { Permits } from './permits.js';

// Topics, the sessions of processes, and who owns which partition: see redis-fleet.ts, and the scripts of the same names.

/** What is kept of the fleet in memory. Nothing gets lost, so there is no second copy of a config. */
export interface MemoryFleet {
  readonly clock: Clock;
  readonly configs: Map<string, TopicConfig>;
  readonly permits: Map<string, Permits>;
  readonly sessions: Map<string, SessionRecord>;
  /** Lists of topics by their digests. */
  readonly handled: Map<string, readonly string[]>;
  /** What the processes said of themselves, by session. */
  readonly processes: Map<string, ReportedProcess>;
  /** What they did, by minute, and then by session and topic. */
  readonly work: Map<number, Map<string, ReportedWork>>;
  /** The history, by topic. */
  readonly history: Map<string, SpanOfWork[]>;
  /** What operators did, in its order. */
  readonly audit: (AuditRecord & { readonly at: number; readonly place: string })[];
  /** Where each schedule is kept. */
  readonly schedules: Map<string, SchedulePlace>;
  readonly signal: (signal: FleetSignal) => void;
}

export function topics({ configs }: MemoryFleet): string[] {
  return [...configs.keys()].toSorted();
}

export function configure(
  { configs }: MemoryFleet,
  topic: string,
  partitions: number,
  order?: TopicOrder,
  limits?: TopicLimits,
): TopicConfig {
  const config = configs.get(topic) ?? { partitions, protocol: PROTOCOL_VERSION, order, limits };
  configs.set(topic, config);
  return config;
}

export function setLimits({ configs }: MemoryFleet, topic: string, limits: TopicLimits | undefined): void {
  const config = configs.get(topic);
  if (config) configs.set(topic, { ...config, limits });
}

export function permit({ permits, clock }: MemoryFleet, topic: string, request: PermitRequest): PermitReply {
  let ofTopic = permits.get(topic);
  if (!ofTopic) permits.set(topic, (ofTopic = new Permits()));
  return ofTopic.permit(request, clock.now());
}

export function waitingForPermits({ permits, clock }: MemoryFleet, topic: string): ReadonlyMap<string, keyof Limits> {
  return permits.get(topic)?.waiting(clock.now()) ?? new Map();
}

export function configOf({ configs }: MemoryFleet, topic: string): TopicConfig | undefined {
  return configs.get(topic);
}

export function configsOf({ configs }: MemoryFleet, names: readonly string[]): (TopicConfig | undefined)[] {
  return names.map((topic) => configs.get(topic));
}

export function heartbeat(fleet: MemoryFleet, given: Heartbeat): FleetLook {
  const isNew = !fleet.sessions.has(given.session);
  note(fleet, given, false);
  return { isNew, mark: 'memory', sessions: sessions(fleet) };
}

export function leave(fleet: MemoryFleet, given: Heartbeat): void {
  const stored = fleet.sessions.get(given.session);
  if (!stored || stored.count <= given.count) note(fleet, given, true);
}

function note({ sessions: all, clock }: MemoryFleet, given: Heartbeat, left: boolean): void {
  const { session, count, length, digest } = given;
  all.set(session, { session, count, at: Math.round(clock.now()), length: Math.round(length), digest, left });
}

export function forget({ sessions: all, handled, processes }: MemoryFleet, gone: readonly string[]): void {
  for (const session of gone) {
    all.delete(session);
    processes.delete(session);
  }
  const named = new Set(Array.from(all.values(), ({ digest }) => digest));
  for (const digest of handled.keys()) if (!named.has(digest)) handled.delete(digest);
}

export function sessions({ sessions: all }: MemoryFleet): SessionRecord[] {
  return [...all.values()].toSorted((a, b) => (a.session < b.session ? -1 : 1));
}

export function rememberTopics({ handled }: MemoryFleet, { digest, topics: list }: TopicList): void {
  handled.set(digest, [...list]);
}

export function rememberedTopics(
  { handled }: MemoryFleet,
  digests: readonly string[],
): (readonly string[] | undefined)[] {
  return digests.map((digest) => handled.get(digest));
}

/** Calls come in their order here, so their numbers say nothing new. */
export function report({ sessions: all, processes }: MemoryFleet, given: ProcessReport): boolean {
  const { session, state, holdings } = given;
  if (!all.has(session)) return false;
  const known = processes.get(session);
  processes.set(session, { state: state ?? known?.state, holdings: holdings ?? known?.holdings });
  return true;
}

export function reportWork({ work: minutes, history: kept }: MemoryFleet, given: WorkReport): void {
  const { session, minute, work, history } = given;
  for (const old of minutes.keys()) if (old <= minute - MINUTES_KEPT) minutes.delete(old);
  let all = minutes.get(minute);
  if (!all) minutes.set(minute, (all = new Map()));
  for (const one of work) {
    const name = `${session} ${one.topic}`;
    if (history) kept.set(one.topic, addedToHistory(kept.get(one.topic) ?? [], one, all.get(name), minute, history));
    all.set(name, { ...one, session });
  }
}

export function reportedProcesses({ processes }: MemoryFleet, sessionNames: readonly string[]): ReportedProcess[] {
  return sessionNames.map((session) => processes.get(session) ?? { state: undefined, holdings: undefined });
}

export function reportedWork({ work }: MemoryFleet, minute: number, topic?: string): ReportedWork[] {
  const all = [...(work.get(minute)?.values() ?? [])];
  return topic === undefined ? all : all.filter((one) => one.topic === topic);
}

export function historyOf({ history }: MemoryFleet, topic: string, minute: number): SpanOfWork[] {
  return (history.get(topic) ?? []).filter((one) => one.minute <= minute);
}

export function appendAudit({ audit, clock }: MemoryFleet, { id, text }: AuditRecord): void {
  if (audit.some((record) => record.id === id)) return;
  const at = Math.floor(clock.now());
  audit.push({ id, text, at, place: `${at}-${audit.length}` });
}

export function auditRecords({ audit }: MemoryFleet, { before, limit }: AuditQuery): AuditPage {
  const end = before === undefined ? audit.length : audit.findIndex(({ place }) => place === before);
  const records = audit
    .slice(Math.max(0, end - limit), Math.max(0, end))
    .toReversed()
    .map(({ place, at, text }) => ({ place, at, text }));
  return { records, next: records.length === limit ? records.at(-1)?.place : undefined };
}

export function tell(fleet: MemoryFleet, signal: FleetSignal): void {
  fleet.signal(signal);
}

export function acquire(partition: MemoryPartition, owner: Owner, replaces: Owner | undefined): AcquireResult {
  const stored = partition.owner;
  if (stored !== owner && stored !== replaces) return { acquired: false, owner: stored };
  partition.owner = owner;
  return { acquired: true };
}

export function release(partition: MemoryPartition, owner: Owner): void {
  if (partition.owner === owner) partition.owner = released(owner);
}
