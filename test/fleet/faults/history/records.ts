import type { TestedLimits } from './limits.js';

/** An event in a process under test. Times are epoch milliseconds on the clock of the machine, which Redis shares. */
export type ProcessRecord = { readonly at: number; readonly process: string } & (
  | { readonly kind: 'publish-called'; readonly id: string }
  | {
      readonly kind: 'publish-confirmed';
      readonly id: string;
      readonly dueAt: number;
      readonly key?: string | undefined;
    }
  | { readonly kind: 'publish-failed'; readonly id: string; readonly code: string }
  /** `unknown`: the cancel was not confirmed, so it may have taken effect or not. */
  | {
      readonly kind: 'cancelled';
      readonly id: string;
      readonly result: 'cancelled' | 'in-flight' | 'not-found' | 'unknown';
    }
  | {
      readonly kind: 'delivery-started';
      readonly id: string;
      readonly attempt: number;
      readonly dueAt: number;
      readonly partition: number;
    }
  | {
      readonly kind: 'delivery-finished';
      readonly id: string;
      readonly attempt: number;
      readonly ok: boolean;
      /** Whether the handler asked for another delivery that spends no attempt. */
      readonly putOff?: boolean;
    }
  | { readonly kind: 'aborted'; readonly id: string; readonly attempt: number; readonly code: string }
  | {
      readonly kind: 'settled';
      readonly id: string;
      readonly attempt: number;
      readonly outcome: 'acked' | 'retried' | 'dead' | 'stale';
      readonly reason?: string;
    }
  | { readonly kind: 'ownership'; readonly partition: number; readonly owned: boolean }
  /** The process got no turn from `from` on, so long that leases may have ended. */
  | { readonly kind: 'stood-still'; readonly from: number }
  /** `stalled`: what the report says about the topic. */
  | {
      readonly kind: 'health';
      readonly status: string;
      readonly stalled: boolean;
      readonly signals: 'up' | 'down';
      readonly problems: readonly string[];
    }
);

export type RecordOf<K extends ProcessRecord['kind']> = Extract<ProcessRecord, { kind: K }>;

/** A fault that the harness caused, from `at` to `until`. */
export interface FaultRecord {
  readonly at: number;
  readonly until: number;
  readonly fault: string;
  /** The process that it hit; `undefined` if it hit all, for example because Redis was gone. */
  readonly process: string | undefined;
  /** Whether it ended the process. */
  readonly fatal: boolean;
  /** Set if it is too short to end a lease, so that it excuses no overlap. */
  readonly keepsLeases?: boolean;
}

/** Redis lost what it had changed between two moments, by a flush, an older snapshot, or a failover. Epoch milliseconds. */
export interface LossRecord {
  readonly from: number;
  readonly until: number;
}

/** From `at` on, the servers' clock is ahead of the machine's by `offset`. Milliseconds. */
export interface ClockStep {
  readonly at: number;
  readonly offset: number;
}

/** The state of a message in Redis at the end. */
export type FinalState = 'scheduled' | 'in-flight' | 'dead';

/** Everything that was recorded in one run. */
export interface History {
  readonly records: readonly ProcessRecord[];
  readonly faults: readonly FaultRecord[];
  readonly losses?: readonly LossRecord[];
  /** In their order; without any, Redis shares the machine's clock. */
  readonly clockSteps?: readonly ClockStep[];
  /** By id; an id that is missing here is no longer in Redis. */
  readonly final: ReadonlyMap<string, FinalState>;
  /** Milliseconds. */
  readonly lease: number;
  /** Milliseconds. */
  readonly session: number;
  /** Milliseconds. */
  readonly publishTimeout: number;
  /** Whether messages of one key are handled in order. */
  readonly ordered?: boolean;
  /** Of the topic. */
  readonly limits?: TestedLimits;
  readonly attempts: number;
}
