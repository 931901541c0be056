import type { Stage } from './stage.js';

/** Servers, a load, a disturbance, and what is to be true afterwards. */
export interface Drill {
  readonly name: string;
  /** The drill in one sentence. */
  readonly shows: string;
  /** How many disturbances `npm run test:drills` and `test:soak` cause, unless the first is told another number. */
  readonly times: number;
  /** How many `npm run test:extended` causes, within 30 s; without it, the drill is none of its tests. */
  readonly short?: number;
  /** Plays it; what is not true is told to the stage. */
  run(stage: Stage, times: number): Promise<void>;
}
