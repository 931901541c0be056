import type { Stage } from './stage.js';

/** Mean of each way to Redis, in milliseconds: to another continent. */
const LATENCY = 150;

const MANY = 12;
const HANDLED = 40_000;

/** Redis is far away: what a rate permits begins all the same. */
export async function farAway(stage: Stage): Promise<void> {
  const { faults } = stage.scene;
  const { latency } = faults;
  faults.latency = LATENCY;
  for (const topic of stage.handled('rated', 'rated-keys', 'ordered-rated')) {
    for (let i = 0; i < MANY; i++) await stage.publish(topic, `far-${topic}-${i % 4}`);
  }
  await stage.assertHandled(HANDLED, 'Redis was far away');
  faults.latency = latency;
}
