import type { RunningApp } from './bed.js';

/** Publishes a message to topic `jobs`, and resolves with the attempt that was acknowledged. */
export async function handleOne(app: RunningApp, payload: unknown = { n: 1 }): Promise<number> {
  await app.producer.publish('jobs', payload, { id: 'one' });
  return (await app.events.acked.first()).attempt;
}
