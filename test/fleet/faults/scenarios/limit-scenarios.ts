import { TIMING, type World } from '../world.js';
import { kill, leave, startFleet } from './process-scenarios.js';
import type { Scenario } from './scenario.js';

/** Processes are killed, stopped, replaced and cut off for a moment, and calls are slow. */
async function disturb(world: World): Promise<void> {
  for (let i = 0; i < 2; i++) {
    await world.pause(300, 700);
    const victim = world.random.pick(world.consumers);
    await world.fault('reset', victim, async () => world.proxy(victim).reset());
    await world.pause(200, 400);
    await kill(world, world.random.pick(world.consumers));
    await world.startConsumer({ handlerTime: 40 });
    const stopped = world.random.pick(world.consumers);
    await world.fault('SIGSTOP', stopped, async () => {
      world.program(stopped).signal('SIGSTOP');
      await world.pause(TIMING.lease + TIMING.session, 2 * TIMING.lease);
      world.program(stopped).signal('SIGCONT');
    });
    await Promise.all([leave(world, world.random.pick(world.consumers)), world.startConsumer({ handlerTime: 40 })]);
  }
  await world.pause(300, 600);
}

export const ratedTopic: Scenario = {
  name: 'rated-topic',
  shows: 'the rate of a topic is kept, while its owners are killed, stopped and replaced',
  length: 'long',
  limits: { rateLimit: { max: 40, per: 1000 } },
  async run(world) {
    await startFleet(world, { handlerTime: 40, failures: 0.1 }, { rate: 20 });
    await disturb(world);
  },
};

export const ratedKeys: Scenario = {
  name: 'rated-keys',
  shows:
    'the rate of 10 keys is kept, and what may be in flight of each, while their owners are killed, stopped and replaced',
  length: 'long',
  limits: { rateLimit: { max: 6, per: 1000, by: 'key' }, maxInFlight: { key: 2 } },
  async run(world) {
    await startFleet(world, { handlerTime: 40, failures: 0.1 }, { keys: 10, rate: 20 });
    await disturb(world);
  },
};

export const fewInFlight: Scenario = {
  name: 'few-in-flight',
  shows: 'no more messages are in flight than may, while their owners are killed, stopped and replaced',
  length: 'long',
  limits: { maxInFlight: { topic: 6 } },
  async run(world) {
    await startFleet(world, { handlerTime: 80, failures: 0.1 }, { rate: 30 });
    await disturb(world);
  },
};
