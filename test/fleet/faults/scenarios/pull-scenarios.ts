import { TIMING } from '../world.js';
import { loseRedis } from './lose-redis.js';
import { kill } from './process-scenarios.js';
import type { Scenario } from './scenario.js';

/** Short of a lease, since nobody renews it. */
const WORK = { pulls: true, concurrency: 20, handlerTime: TIMING.lease / 4, failures: 0.05 } as const;

export const pulledByKilled: Scenario = {
  name: 'pulled-by-killed',
  shows: 'receivers are killed at any moment: while they wait, between receiving and settling, while they settle',
  async run(world) {
    for (let i = 0; i < 3; i++) await world.startConsumer(WORK);
    for (let i = 0; i < 2; i++) await world.startProducer();
    for (let i = 0; i < 4; i++) {
      await world.pause(200, 900);
      await kill(world, world.random.pick(world.consumers));
      await world.startConsumer(WORK);
    }
    await world.pause(300, 600);
  },
};

export const pulledWhileRedisGoes: Scenario = {
  name: 'pulled-while-redis-goes',
  shows: 'Redis restarts, and a process is cut off from it, while receivers wait and settle',
  run: async (world) => loseRedis(world, WORK),
};

export const pulledInOrder: Scenario = {
  name: 'pulled-in-order',
  shows: 'an ordered topic is pulled, by processes that come, go and are killed',
  ordered: true,
  async run(world) {
    for (let i = 0; i < 2; i++) await world.startConsumer(WORK);
    await world.startProducer({ keys: 50 });
    for (let i = 0; i < 3; i++) {
      await world.pause(300, 900);
      const victim = world.random.pick(world.consumers);
      if (i === 1) world.program(victim).signal('SIGTERM');
      else await kill(world, victim);
      await world.startConsumer(WORK);
    }
    await world.pause(500, 900);
  },
};
