import { type JobsOptions, Queue, Worker } from 'bullmq';
import { type Contender, type Message, endProcess, now } from './contender.js';
import type { Payload } from './payload.js';

const JOB_NAME = 'bench';

/**
 * BullMQ on ioredis, its default client. Finished jobs are removed, as its documentation advises; metrics, telemetry and
 * listeners to its events are left out. Automatic pipelining stays off: users report that jobs get lost from the active list
 * with it.
 */
export const bullMq: Contender = {
  async publisher({ redisUrl, topic }) {
    const queue = new Queue<Payload>(topic, {
      connection: { url: redisUrl },
      defaultJobOptions: { removeOnComplete: true },
    });
    queue.on('error', endProcess);
    await queue.waitUntilReady();
    return {
      publish: (message) => queue.add(JOB_NAME, message.payload, optionsOf(message)),
      publishMany: (messages) =>
        queue.addBulk(messages.map((message) => ({ name: JOB_NAME, data: message.payload, opts: optionsOf(message) }))),
      close: () => queue.close(),
    };
  },

  async consumer({ redisUrl, topics, concurrency }, handle) {
    const workers = topics.map(
      (topic) =>
        new Worker<Payload, void>(topic, ({ data }) => handle(data), {
          // BullMQ requires this for its blocking commands, which may wait for any time.
          connection: { url: redisUrl, maxRetriesPerRequest: null },
          concurrency,
          autorun: false,
        }),
    );
    for (const worker of workers) {
      worker.on('error', endProcess);
      worker.on('failed', (_job, error) => endProcess(error));
    }
    await Promise.all(workers.map((worker) => worker.waitUntilReady()));
    const startedAt = now();
    for (const worker of workers) worker.run().catch(endProcess);
    return {
      startedAt,
      close: async () => {
        await Promise.all(workers.map((worker) => worker.close()));
      },
    };
  },
};

/**
 * For a point in time: BullMQ counts the delay from when it makes the job, a moment later. Passing that time too would be
 * exact, but BullMQ would store it twice with each job.
 */
function optionsOf({ due }: Message): JobsOptions {
  if (due === undefined) return {};
  return { delay: 'after' in due ? due.after : Math.max(0, due.at - Date.now()) };
}
