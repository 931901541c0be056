import type { TestedLimits } from '../history/limits.js';
import type { World } from '../world.js';

/** A way in which things break. */
export interface Scenario {
  readonly name: string;
  /** The scenario in one sentence. */
  readonly shows: string;
  /** `short`: `npm test` plays it; `long`: only `npm run test:faults` does. @defaultValue `npm run test:extended` plays it */
  readonly length?: 'short' | 'long';
  /** Set if the topic is ordered. */
  readonly ordered?: boolean;
  /** Of the topic. */
  readonly limits?: TestedLimits;
  /** What Redis is started with; without it, it has an append-only file. */
  readonly server?: readonly string[];
  /** How late a message may be, in milliseconds, if the faults do not justify more. */
  readonly maxLateness?: number;
  /** Set if every publish has to be confirmed, since the faults leave enough time. */
  readonly confirmsAll?: boolean;
  /** Starts the processes and causes the faults; the checker runs afterwards. */
  run(world: World): Promise<void>;
}
