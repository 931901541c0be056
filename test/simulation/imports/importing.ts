import type { DelayQueueConnection } from '../../../lib/composition/delay-queue.connection.js';
import type { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';
import { IMPORTED } from '../fleet/topics.js';
import { isUnavailable } from '../work/errors.js';
import { bullmqConnection } from './bullmq-redis.js';
import { QUEUE, areJobsLeft } from './jobs.js';

/** Longest time until a change is confirmed, and pause between two imports of a process, in milliseconds. */
const TIMEOUT = 5000;
const PAUSE = 500;

/** Moves jobs to a topic, import after import, as `nestjs-delay-queue import-bullmq` does. */
export async function importAll(scene: Scene, process: Process, connection: DelayQueueConnection): Promise<void> {
  const { product, link } = process;
  const { BullmqImport, BullmqQueue, ImportGoal } = product;
  const { broker, producer } = connection;
  const queue = new BullmqQueue(bullmqConnection(product, link, scene.server), QUEUE.prefix, QUEUE.name);
  while (!scene.isClosed && process.connection) {
    if (areJobsLeft(scene)) {
      const goal = new ImportGoal({ broker, producer, clock: process, timeout: TIMEOUT });
      const jobs = new BullmqImport({ queue, goal, topic: IMPORTED, place: 'here' });
      try {
        await jobs.move(new Set([IMPORTED]), { signal: new AbortController().signal, onProgress: () => {} });
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        scene.world.trace(process.name, `import ends: ${(error as Error).message}`);
      }
    }
    await process.sleep(PAUSE);
  }
}
