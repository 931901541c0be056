/**
 * Values of {@link DoctorFinding.check}, in the order of the findings.
 *
 * @publicApi
 */
export const DOCTOR_CHECKS = [
  'connection',
  'version',
  'active-active',
  'client',
  'role',
  'loading',
  'eviction',
  'memory',
  'evicted-keys',
  'persistence',
  'disk',
  'replicas',
  'replication-lag',
  'wait',
  'rights',
  'script-flags',
  'script-time',
  'signals',
  'clock',
  'cluster',
  'connections',
  'slow-scripts',
  'set-aside',
  'prefix',
  'topics',
] as const;

/**
 * Name of a check of `DelayQueueAdmin.doctor()`.
 *
 * @publicApi
 */
export type DoctorCheck = (typeof DOCTOR_CHECKS)[number];

/**
 * Finding of a check of `DelayQueueAdmin.doctor()`. A check that is fine has one finding; of several servers, each that is not
 * fine has one.
 *
 * @publicApi
 */
export interface DoctorFinding {
  readonly check: DoctorCheck;
  /**
   * `'error'`: a promise of this library does not hold there. `'warning'`: it holds now, but may not later; or the server does
   * not tell, and then the message says 'unknown' and why.
   */
  readonly level: 'ok' | 'warning' | 'error';
  /** Observation, with figures. */
  readonly message: string;
  /** Advice on what to do; empty if there is nothing to do. */
  readonly advice: string;
}
