import type { Clock } from '../../time/clock.js';
import {
  type AcquireResult,
  type Member,
  PROTOCOL_VERSION,
  type RenewResult,
  type TopicConfig,
} from '../broker.interface.js';
import type { MemoryPartition } from './memory-partition.js';

// Topics, their members, and who owns which partition: see the scripts of the same names.

/** The state of one topic in memory. */
export interface MemoryTopic {
  readonly clock: Clock;
  config: TopicConfig | undefined;
  readonly members: Map<string, Omit<Member, 'id'>>;
  /** Tells whoever watches the members. */
  readonly announce: () => void;
}

export function configure(topic: MemoryTopic, partitions: number): TopicConfig {
  return (topic.config ??= { partitions, protocol: PROTOCOL_VERSION });
}

export function configOf(topic: MemoryTopic): TopicConfig | undefined {
  return topic.config;
}

export function join(topic: MemoryTopic, member: string, session: number, holdings: readonly number[]): Member[] {
  const { members } = topic;
  const now = topic.clock.now();
  let changed = members.get(member)?.holdings.join() !== holdings.join();
  members.set(member, { expiresAt: now + session, holdings: [...holdings] });
  for (const [id, { expiresAt }] of members) {
    if (expiresAt <= now) changed = members.delete(id);
  }
  if (changed) topic.announce();
  return Array.from(members, ([id, rest]) => ({ id, ...rest })).toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

export function leave(topic: MemoryTopic, member: string): void {
  if (topic.members.delete(member)) topic.announce();
}

export function hasMembers({ members, clock }: MemoryTopic): boolean {
  return [...members.values()].some(({ expiresAt }) => expiresAt > clock.now());
}

export function acquire(partition: MemoryPartition, member: string, session: number): AcquireResult {
  const { owner } = partition;
  if (owner && owner.member !== member) return { acquired: false, retryAt: owner.expiresAt };
  partition.own(member, session);
  return { acquired: true, token: partition.token };
}

export function renew(partition: MemoryPartition, member: string, session: number): RenewResult {
  const { owner } = partition;
  if (owner) partition.own(owner.member, session);
  return { owned: owner?.member === member, nextDueAt: partition.nextDueAt };
}

export function release(partition: MemoryPartition, member: string): void {
  if (partition.owner?.member === member) partition.disown();
}
