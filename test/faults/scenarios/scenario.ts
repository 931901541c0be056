import type { World } from '../support/world.js';

/** A way in which things break. */
export interface Scenario {
  readonly name: string;
  /** What it shows, in a sentence. */
  readonly shows: string;
  /** Starts the processes and makes the faults; the checker comes afterwards. */
  run(world: World): Promise<void>;
}
