import type { DelayQueueConnection } from '../../../lib/composition/delay-queue.connection.js';
import type { SeededRandom } from '../../support/random.js';
import type { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';

/** A process that has started. */
export interface Setting {
  readonly scene: Scene;
  readonly process: Process;
  readonly connection: DelayQueueConnection;
  /** Of the machine, for its work. */
  readonly random: SeededRandom;
  /** Does something beside the rest. What it rejects with is a promise that was broken. */
  readonly run: (what: string, work: () => Promise<void>) => void;
}

/** What a process does by itself once it has started, until it leaves or the simulation ends. */
export type Activity = (setting: Setting) => void;
