import { MAX_PARTITIONS } from '../../checks/limits.js';
import { isName } from '../../messages/topic.js';
import { fromJson } from '../stored-json.js';
import type { Receipt } from '../deliveries/receipt.js';
import type { Partition } from '../partition.js';
import type { Owner } from './owner.js';

export type PartitionSignal =
  /** A message may be due earlier than was known, at this time (epoch milliseconds). */
  | { readonly kind: 'due'; readonly at: number }
  /** A schedule publishes earlier than was known, at this time (epoch milliseconds). */
  | { readonly kind: 'schedules'; readonly at: number }
  /** A message in flight was cancelled. */
  | ({ readonly kind: 'cancelled' } & Receipt);

/** Most partitions in one signal. */
export const MAX_RELEASED = 100;

export type SessionSignal =
  /** A session came or went, or handles other topics now. */
  | { readonly kind: 'changed' }
  /** Partitions that the session is to own were released; at most {@link MAX_RELEASED}. */
  | { readonly kind: 'released'; readonly partitions: readonly Partition[] }
  /** Another process is to own a partition that is stored as this session's. */
  | { readonly kind: 'wanted'; readonly partition: Partition; readonly owner: Owner }
  /** Another process cannot read which topics the session handles. */
  | { readonly kind: 'unknown-topics' }
  /** The topic may have permits, or others wait for those that the session has. */
  | { readonly kind: 'permits'; readonly topic: string }
  /** New lease of a delivery that the session has handed out, in milliseconds from now on; 0: it has ended. */
  | { readonly kind: 'lease'; readonly partition: Partition; readonly token: string; readonly lease: number }
  /** Other limits are stored with the topic. */
  | { readonly kind: 'limits'; readonly topic: string }
  /** A transaction has written to a shard of the outbox. */
  | { readonly kind: 'outbox'; readonly shard: number }
  /** The session has sent this to itself, to know that signals come through. */
  | { readonly kind: 'echo'; readonly count: number };

/** A signal, and the session that it is for; without one, it is for all. */
export interface FleetSignal {
  readonly to?: string | undefined;
  readonly signal: SessionSignal;
}

/** Reads what the scripts publish: `due <ms>`, `schedules <ms>` or `cancelled <token> <stored id>`. Anything else is not ours. */
export function decodePartitionSignal(message: string): PartitionSignal | undefined {
  const [kind, value] = message.split(' ', 2);
  if (!value) return undefined;
  if ((kind === 'due' || kind === 'schedules') && Number.isFinite(Number(value))) return { kind, at: Number(value) };
  if (kind === 'cancelled') {
    return { kind, token: value, storedId: message.slice(kind.length + value.length + 2) };
  }
  return undefined;
}

export function encodeSessionSignal(signal: SessionSignal): string {
  return JSON.stringify(signal);
}

export function decodeSessionSignal(text: string): SessionSignal | undefined {
  const { kind, count, lease, owner, partition, partitions, shard, token, topic } = objectOf(fromJson(text));
  switch (kind) {
    case 'changed':
    case 'unknown-topics':
      return { kind };
    case 'released':
      return { kind, partitions: Array.isArray(partitions) ? partitions.flatMap(partitionsOf) : [] };
    case 'permits':
    case 'limits':
      return isName(topic) ? { kind, topic } : undefined;
    case 'echo':
      return Number.isSafeInteger(count) ? { kind, count: count as number } : undefined;
    case 'outbox':
      return Number.isSafeInteger(shard) ? { kind, shard: shard as number } : undefined;
    case 'wanted': {
      const [wanted] = partitionsOf(partition);
      return wanted && typeof owner === 'string' ? { kind, partition: wanted, owner } : undefined;
    }
    case 'lease': {
      const [leased] = partitionsOf(partition);
      const isLease = typeof token === 'string' && Number.isSafeInteger(lease);
      return leased && isLease ? { kind, partition: leased, token, lease: lease as number } : undefined;
    }
    default:
      return undefined;
  }
}

/** Reads a partition; empty if it is none. */
function partitionsOf(value: unknown): Partition[] {
  const { topic, index } = objectOf(value);
  return isName(topic) && isIndex(index) ? [{ topic, index }] : [];
}

function isIndex(index: unknown): index is number {
  return Number.isInteger(index) && (index as number) >= 0 && (index as number) < MAX_PARTITIONS;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
