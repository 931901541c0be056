import type { Clock } from '../../time/clock.js';
import {
  type AcquireResult,
  type FleetLook,
  type FleetSignal,
  type Heartbeat,
  type Owner,
  PROTOCOL_VERSION,
  type SchedulePlace,
  type SessionRecord,
  type PermitReply,
  type PermitRequest,
  type TopicConfig,
  type TopicLimits,
  type TopicList,
  type TopicOrder,
  released,
} from '../broker.interface.js';
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

export function configOf({ configs }: MemoryFleet, topic: string): TopicConfig | undefined {
  return configs.get(topic);
}

export function configsOf({ configs }: MemoryFleet, names: readonly string[]): (TopicConfig | undefined)[] {
  return names.map((topic) => configs.get(topic));
}

export function heartbeat(fleet: MemoryFleet, given: Heartbeat): FleetLook {
  const isNew = !fleet.sessions.has(given.session);
  note(fleet, given, false);
  return { isNew, sessions: sessions(fleet) };
}

export function leave(fleet: MemoryFleet, given: Heartbeat): void {
  const stored = fleet.sessions.get(given.session);
  if (!stored || stored.count <= given.count) note(fleet, given, true);
}

function note({ sessions: all, clock }: MemoryFleet, given: Heartbeat, left: boolean): void {
  const { session, count, length, digest } = given;
  all.set(session, { session, count, at: Math.round(clock.now()), length: Math.round(length), digest, left });
}

export function forget({ sessions: all, handled }: MemoryFleet, gone: readonly string[]): void {
  for (const session of gone) all.delete(session);
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
