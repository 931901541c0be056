import { TIMING, type World } from '../world.js';

/** Two processes work while Redis restarts, and then one of them is cut off from it. */
export async function loseRedis(world: World, work: Parameters<World['startConsumer']>[0]): Promise<void> {
  for (let i = 0; i < 2; i++) await world.startConsumer(work);
  for (let i = 0; i < 2; i++) await world.startProducer();
  await world.pause(400, 700);
  await world.fault('restart', undefined, async () => {
    await world.redis.kill();
    await world.pause(200, 600);
    await world.redis.start();
  });
  await world.pause(700, 1200);
  const victim = world.random.pick(world.consumers);
  await world.fault('cut off', victim, async () => {
    world.proxy(victim).refuse(true);
    await world.pause(TIMING.session, 2 * TIMING.lease);
    world.proxy(victim).refuse(false);
  });
  await world.pause(700, 1200);
}
