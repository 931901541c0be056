import type { Contender } from '../contenders/contender.js';

/** Passed to each role. */
export interface RoleContext {
  readonly contender: Contender;
  readonly redisUrl: string;
  /** Call this when the preparations are over and the measurement may begin. */
  readonly ready: () => void;
  /** Reports how many messages were handled so far. */
  readonly handled: (count: number) => void;
  /** Resolves when the process has been told to finish. */
  readonly finish: Promise<unknown>;
}
