import { leftOfImports } from '../fleet/leftovers.js';
import type { Scene } from '../fleet/scene.js';
import { IMPORTED, TOPICS } from '../fleet/topics.js';
import { PAUSE_WHILE_MANY_WAIT } from '../work/producers.js';
import { drawMessage } from '../work/messages.js';
import { exponential } from '../world/accidents.js';

/** What the keys of the queue begin with. */
export const QUEUE = { prefix: '{bullmq}', name: 'jobs' } as const;

/** BullMQ counts jobs of the same millisecond. */
const SCORES_PER_MILLISECOND = 4096;

/** How much later than now a job is due at least, in milliseconds: there are no workers of BullMQ that would take it before. */
const LEAST_DELAY = 500;

/** An application that has its work in BullMQ still, which stores jobs as BullMQ does. */
export async function addJobs(scene: Scene): Promise<void> {
  const { world, server, rules, faults } = scene;
  const random = world.random('jobs');
  const sleep = async (delay: number): Promise<void> => new Promise((resolve) => void world.after(delay, resolve));
  for (let number = 0; !scene.isEnding; number++) {
    while (rules.messages.waiting(IMPORTED) >= (TOPICS[IMPORTED]?.most ?? 0)) await sleep(PAUSE_WHILE_MANY_WAIT);
    const { payload, delay } = drawMessage(scene, random, { topic: IMPORTED, key: `job-${number}`, index: 0, lag: 0 });
    const dueAt = Math.floor(server.now()) + LEAST_DELAY + delay;
    // A job has no key, so its message has its id for one.
    const id = `job-${number}`;
    const job = { ...payload, id, key: id, earliest: dueAt };
    rules.publishing(IMPORTED, job);
    rules.publishEnded(id);
    const base = `${QUEUE.prefix}:${QUEUE.name}:`;
    const fields = {
      name: IMPORTED,
      data: JSON.stringify(job),
      opts: '{}',
      timestamp: String(Math.floor(server.now())),
    };
    server.data.call('HSET', `${base}${id}`, ...Object.entries(fields).flat());
    server.data.call('ZADD', `${base}delayed`, String(dueAt * SCORES_PER_MILLISECOND), id);
    rules.published(id, dueAt);
    await sleep(exponential(random, faults.pause));
  }
}

/** Whether jobs are left that have to be moved. */
export function areJobsLeft(scene: Scene): boolean {
  return leftOfImports(scene).length > 0;
}
