import { disturb, startFleet } from './process-scenarios.js';
import type { World } from '../world.js';
import type { Scenario } from './scenario.js';

const PULLS = { pulls: true, failures: 0.1, putOffs: 0.05, handlerTime: 40 };

export const pulledTopic: Scenario = {
  name: 'pulled-topic',
  shows: 'processes that receive messages are killed, stopped, cut off and replaced',
  async run(world) {
    await startFleet(world, PULLS);
    await disturb(world, 2, PULLS);
  },
};

export const pulledOrder: Scenario = {
  name: 'pulled-order',
  shows: 'messages of 50 keys are received in order, while those who receive are killed, stopped, cut off and replaced',
  length: 'long',
  ordered: true,
  async run(world) {
    await startFleet(world, PULLS, { keys: 50, rate: 100 });
    await disturb(world, 3, PULLS);
  },
};

export const pulledFewInFlight: Scenario = {
  name: 'pulled-few-in-flight',
  shows:
    'no more of what is received is in flight than may be, while those who receive are killed, stopped and replaced',
  length: 'long',
  limits: { maxInFlight: { topic: 6 } },
  async run(world) {
    await startFleet(world, PULLS, { rate: 30 });
    await disturb(world, 2, PULLS);
  },
};

export const pulledOutage: Scenario = {
  name: 'pulled-outage',
  shows: 'Redis is restarted while messages are received and settled',
  length: 'long',
  async run(world) {
    await startFleet(world, PULLS);
    await restartTwice(world);
  },
};

export async function restartTwice(world: World): Promise<void> {
  for (let i = 0; i < 2; i++) {
    await world.pause(300, 600);
    await world.fault('restart', undefined, async () => {
      await world.redis.kill();
      await world.pause(300, 800);
      await world.redis.start();
    });
    await world.pause(500, 900);
  }
}
