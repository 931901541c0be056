import type { World } from '../world.js';

/** A way in which things break. */
export interface Scenario {
  readonly name: string;
  /** What it shows, in a sentence. */
  readonly shows: string;
  /** Takes so long that only `npm run test:faults` plays it. */
  readonly long?: boolean;
  /** How late a message may be, in milliseconds, where the faults are no reason to be late. */
  readonly maxLateness?: number;
  /** Every publish is confirmed, since the faults leave it time. */
  readonly confirmsAll?: boolean;
  /** Starts the processes and makes the faults; the checker comes afterwards. */
  run(world: World): Promise<void>;
}
