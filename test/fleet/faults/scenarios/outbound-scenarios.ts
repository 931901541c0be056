import { TIMING, type World } from '../world.js';
import { loseRedis } from './lose-redis.js';
import { kill } from './process-scenarios.js';
import type { Scenario } from './scenario.js';

const PUSHES = { outbound: 'push', handlerTime: TIMING.lease / 4, failures: 0.05 } as const;
const FORWARDS = { ...PUSHES, outbound: 'forward' } as const;

export const pushedByKilled: Scenario = {
  name: 'pushed-by-killed',
  shows: 'processes that push are killed at any moment, among them while a request is on its way',
  run: async (world) => killInTurn(world, PUSHES),
};

export const forwardedByKilled: Scenario = {
  name: 'forwarded-by-killed',
  shows: 'processes that forward are killed at any moment, among them while their client sends',
  run: async (world) => killInTurn(world, FORWARDS),
};

export const pushedWhileRedisGoes: Scenario = {
  name: 'pushed-while-redis-goes',
  shows: 'Redis restarts, and a process is cut off from it, while messages are pushed',
  run: async (world) => loseRedis(world, PUSHES),
};

export const forwardedWhileRedisGoes: Scenario = {
  name: 'forwarded-while-redis-goes',
  shows: 'Redis restarts, and a process is cut off from it, while messages are forwarded',
  run: async (world) => loseRedis(world, FORWARDS),
};

type Work = typeof PUSHES | typeof FORWARDS;

async function killInTurn(world: World, work: Work): Promise<void> {
  for (let i = 0; i < 3; i++) await world.startConsumer(work);
  for (let i = 0; i < 2; i++) await world.startProducer();
  for (let i = 0; i < 4; i++) {
    await world.pause(200, 900);
    const victim = world.random.pick(world.consumers);
    if (i === 2) world.program(victim).signal('SIGTERM');
    else await kill(world, victim);
    await world.startConsumer(work);
  }
  await world.pause(300, 600);
}
