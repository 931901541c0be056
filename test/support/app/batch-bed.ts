import type { HandlerOptions, PublishOptions } from 'nestjs-delay-queue';
import { type Respond, batchHandler } from './batch-recorder.js';
import type { Bed } from './bed.js';

/** The topic of the handlers that {@link startBatches} starts. */
export const BATCH_TOPIC = 'jobs';

export interface BatchSetup extends HandlerOptions {
  readonly partitions?: number;
  readonly shutdownTimeout?: number;
  readonly maxIdleWait?: number;
}

/** Starts an application with one handler of batches, of ten messages at most by default. */
export async function startBatches(bed: Bed, setup: BatchSetup = {}, respond: Respond = () => undefined) {
  const { partitions = 1, shutdownTimeout = 500, maxIdleWait = 200, ...options } = setup;
  const handler = batchHandler(BATCH_TOPIC, { batch: 10, backoff: { type: 'fixed', delay: 10 }, ...options });
  const app = await bed.compile({
    providers: [handler],
    options: { defaults: { partitions }, consumer: { shutdownTimeout, maxIdleWait } },
  });
  const jobs = app.get(handler);
  // Set before the first message comes.
  jobs.respond = respond;
  await app.nest.init();
  return { app, producer: app.producer, events: app.events, jobs, partition: bed.partition(BATCH_TOPIC) };
}

/** Publishes while nobody consumes, so that all are due when a consumer starts. */
export async function publishDue(
  bed: Bed,
  messages: Record<string, PublishOptions> | readonly string[],
  partitions = 1,
): Promise<void> {
  const publisher = await bed.start({ options: { consumer: false, defaults: { partitions } } });
  const named = Array.isArray(messages) ? messages.map((id: string) => [id, {}] as const) : Object.entries(messages);
  const batch = named.map(([id, options]) => ({ payload: `payload of ${id}`, options: { id, ...options } }));
  await publisher.producer.publishMany(BATCH_TOPIC, batch);
}
