import type { Receipt } from './message-calls.interface.js';

/** Version of the layout of keys and records; stored with each topic and compared at boot. */
export const PROTOCOL_VERSION = 1;

export interface TopicConfig {
  readonly partitions: number;
  readonly protocol: number;
}

export interface Member {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** Partitions it says it holds. */
  readonly holdings: readonly number[];
}

export type AcquireResult =
  | { readonly acquired: true; readonly token: number }
  /** `retryAt`: when the holder's claim ends unless it renews it, epoch milliseconds. */
  | { readonly acquired: false; readonly retryAt: number };

export interface RenewResult {
  readonly owned: boolean;
  /** Earliest due time in the partition, epoch milliseconds. */
  readonly nextDueAt: number | undefined;
}

export type PartitionSignal =
  /** Something may be due earlier than was known, at this time (epoch milliseconds). */
  | { readonly kind: 'due'; readonly at: number }
  /** A message in flight was cancelled. */
  | ({ readonly kind: 'cancelled' } & Receipt);
