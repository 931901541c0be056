import type { Stage } from './stage.js';

/** Fewer and more of one partition than may wait there, and how many that are, with those that have begun by then. */
const FEW = 40;
const MANY = 180;
const CROWD = 140;
const FULL = 10_000;
const DELAY = 3000;
const HANDLED = 30_000;

/** Redis is full for longer than a lease while handlers fail: what became of that waits, and each message comes once again. */
export async function fill(stage: Stage): Promise<void> {
  await failWhileFull(stage, FEW);
}

/** The same of a crowd of them, of which some are left until there is room again. */
export async function crowd(stage: Stage): Promise<void> {
  await failWhileFull(stage, MANY);
}

async function failWhileFull(stage: Stage, count: number): Promise<void> {
  const { rules, server, world } = stage.scene;
  const [topic] = stage.handled('plain');
  if (topic === undefined) return;
  for (let i = 0; i < count; i++) await stage.publish(topic, 'full', { throws: 1 }, { delay: DELAY });
  let begun = 0;
  rules.onBegin = () => begun++;
  for (const shard of server.shards) shard.fullUntil = world.now + FULL;
  await stage.wait(FULL);
  if (begun > CROWD)
    stage.violated(`handlers are called ${begun} times while nothing can be stored of what they fail with`);
  await stage.assertHandled(HANDLED, 'Redis was full');
  rules.onBegin = undefined;
  if (begun !== 2 * count) stage.violated(`handlers are called ${begun} times for ${count} messages that fail once`);
}
