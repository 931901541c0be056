import { disturb, startFleet } from './process-scenarios.js';
import type { Scenario } from './scenario.js';

export const ratedTopic: Scenario = {
  name: 'rated-topic',
  shows: 'the rate of a topic is kept, while its owners are killed, stopped and replaced',
  length: 'long',
  limits: { rateLimit: { max: 40, per: 1000 } },
  async run(world) {
    await startFleet(world, { handlerTime: 40, failures: 0.1 }, { rate: 20 });
    await disturb(world, 2, { handlerTime: 40 });
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
    await disturb(world, 2, { handlerTime: 40 });
  },
};

export const fewInFlight: Scenario = {
  name: 'few-in-flight',
  shows: 'no more messages are in flight than may, while their owners are killed, stopped and replaced',
  length: 'long',
  limits: { maxInFlight: { topic: 6 } },
  async run(world) {
    await startFleet(world, { handlerTime: 80, failures: 0.1 }, { rate: 30 });
    await disturb(world, 2, { handlerTime: 40 });
  },
};
