import { TIMING, type World } from '../world.js';
import { kill, leave, startFleet } from './process-scenarios.js';
import type { Scenario } from './scenario.js';

/** Processes are killed, stopped and replaced, and connections are lost. */
async function disturb(world: World): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await world.pause(300, 700);
    const victim = world.random.pick(world.consumers);
    await world.fault('reset', victim, async () => world.proxy(victim).reset());
    await world.pause(200, 400);
    await kill(world, world.random.pick(world.consumers));
    await world.startConsumer();
    const stopped = world.random.pick(world.consumers);
    await world.fault('SIGSTOP', stopped, async () => {
      world.program(stopped).signal('SIGSTOP');
      await world.pause(TIMING.lease + TIMING.session, 2 * TIMING.lease);
      world.program(stopped).signal('SIGCONT');
    });
    await Promise.all([leave(world, world.random.pick(world.consumers)), world.startConsumer()]);
  }
  await world.pause(300, 600);
}

export const orderedKeys: Scenario = {
  name: 'ordered-keys',
  shows:
    'messages of 50 keys fail, are put off, and are retried in order, while their owners are killed, stopped and replaced',
  length: 'long',
  ordered: true,
  async run(world) {
    await startFleet(world, { failures: 0.2, putOffs: 0.1, handlerTime: 20 }, { keys: 50, rate: 100 });
    await disturb(world);
  },
};

export const hotKey: Scenario = {
  name: 'hot-key',
  shows: 'all messages have one key',
  length: 'long',
  ordered: true,
  async run(world) {
    await startFleet(world, { failures: 0.05, handlerTime: 4 }, { keys: 1, rate: 25 });
    await disturb(world);
  },
};
