import { disturb, startFleet } from './process-scenarios.js';
import { restartTwice } from './pulling-scenarios.js';
import type { Scenario } from './scenario.js';

const PUSHES = { pushes: true, failures: 0.1, handlerTime: 40 };

export const pushedTopic: Scenario = {
  name: 'pushed-topic',
  shows: 'processes that push messages to a URL are killed, stopped, cut off and replaced',
  async run(world) {
    await startFleet(world, PUSHES);
    await disturb(world, 2, PUSHES);
  },
};

export const pushedOrder: Scenario = {
  name: 'pushed-order',
  shows: 'messages of 50 keys are pushed in order, while those who push are killed, stopped, cut off and replaced',
  length: 'long',
  ordered: true,
  async run(world) {
    await startFleet(world, PUSHES, { keys: 50, rate: 100 });
    await disturb(world, 3, PUSHES);
  },
};

export const pushedOutage: Scenario = {
  name: 'pushed-outage',
  shows: 'Redis is restarted while messages are pushed',
  length: 'long',
  async run(world) {
    await startFleet(world, PUSHES);
    await restartTwice(world);
  },
};
