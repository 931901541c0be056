import BeeQueue from 'bee-queue';
import { type Contender, type Message, endProcess, now } from './contender.js';
import type { Payload } from './payload.js';

/** Everything that its documentation calls optional is off: events, and finished jobs kept in memory and in Redis. */
const LEAN: BeeQueue.QueueSettings = {
  getEvents: false,
  sendEvents: false,
  storeJobs: false,
  removeOnSuccess: true,
};

/** Delayed jobs run as soon as they are due; the default gathers them for up to a second. */
const PROMPT: BeeQueue.QueueSettings = { activateDelayedJobs: true, delayedDebounce: 1 };

/** bee-queue on its own client. */
export const beeQueue: Contender = {
  async publisher({ redisUrl, topic }) {
    const queue = await open(redisUrl, topic, { isWorker: false });
    const toJob = ({ payload, due }: Message): BeeQueue.Job<Payload> => {
      const job = queue.createJob(payload);
      if (due === undefined) return job;
      return job.delayUntil('after' in due ? Date.now() + due.after : due.at);
    };
    return {
      publish: (message) => toJob(message).save(),
      publishMany: async (messages) => {
        const [failure] = await queue.saveAll(messages.map(toJob));
        if (failure) throw failure[1];
      },
      close: () => queue.close(),
    };
  },

  async consumer({ redisUrl, topics, concurrency }, handle) {
    const queues = await Promise.all(topics.map((topic) => open(redisUrl, topic, PROMPT)));
    const startedAt = now();
    for (const queue of queues) {
      queue.on('failed', (_job, error) => endProcess(error));
      queue.process(concurrency, ({ data }: BeeQueue.Job<Payload>) => handle(data));
    }
    return {
      startedAt,
      close: async () => {
        await Promise.all(queues.map((queue) => queue.close()));
      },
    };
  },
};

async function open(redisUrl: string, topic: string, settings: BeeQueue.QueueSettings): Promise<BeeQueue<Payload>> {
  const { hostname, port } = new URL(redisUrl);
  const queue = new BeeQueue<Payload>(topic, { ...LEAN, ...settings, redis: { host: hostname, port: Number(port) } });
  queue.on('error', endProcess);
  return queue.ready();
}
