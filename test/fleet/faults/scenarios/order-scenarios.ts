import { disturb, startFleet } from './process-scenarios.js';
import type { Scenario } from './scenario.js';

export const orderedKeys: Scenario = {
  name: 'ordered-keys',
  shows:
    'messages of 50 keys fail, are put off, and are retried in order, while their owners are killed, stopped and replaced',
  length: 'long',
  ordered: true,
  async run(world) {
    await startFleet(world, { failures: 0.2, putOffs: 0.1, handlerTime: 20 }, { keys: 50, rate: 100 });
    await disturb(world, 3);
  },
};

export const hotKey: Scenario = {
  name: 'hot-key',
  shows: 'all messages have one key',
  length: 'long',
  ordered: true,
  async run(world) {
    await startFleet(world, { failures: 0.05, handlerTime: 4 }, { keys: 1, rate: 25 });
    await disturb(world, 3);
  },
};
