import type { ConsumerConfig } from '../programs/config.js';
import { disturb, startFleet } from './process-scenarios.js';
import { restartTwice } from './redis-scenarios.js';
import type { Scenario } from './scenario.js';

/** Where the messages of a topic go in place of a handler. */
interface Destination {
  readonly name: string;
  /** What processes do with messages, and what becomes of these. */
  readonly verbs: readonly [does: string, done: string];
  readonly consumer: Partial<ConsumerConfig>;
}

const PULLED: Destination = {
  name: 'pulled',
  verbs: ['receive', 'received'],
  consumer: { pulls: true, failures: 0.1, putOffs: 0.05, handlerTime: 40 },
};

const PUSHED: Destination = {
  name: 'pushed',
  verbs: ['push', 'pushed'],
  consumer: { pushes: true, failures: 0.1, handlerTime: 40 },
};

const FORWARDED: Destination = {
  name: 'forwarded',
  verbs: ['forward', 'forwarded'],
  consumer: { forwards: true, failures: 0.1, handlerTime: 40 },
};

export const pulled = scenariosOf(PULLED);
export const pushed = scenariosOf(PUSHED);
export const forwarded = scenariosOf(FORWARDED);

export const pulledFewInFlight: Scenario = {
  name: 'pulled-few-in-flight',
  shows:
    'no more of what is received is in flight than may be, while those who receive are killed, stopped and replaced',
  length: 'long',
  limits: { maxInFlight: { topic: 6 } },
  async run(world) {
    await startFleet(world, PULLED.consumer, { rate: 30 });
    await disturb(world, 2, PULLED.consumer);
  },
};

function scenariosOf({ name, verbs: [does, done], consumer }: Destination): Scenario[] {
  return [
    {
      name: `${name}-topic`,
      shows: `processes that ${does} messages are killed, stopped, cut off and replaced`,
      async run(world) {
        await startFleet(world, consumer);
        await disturb(world, 2, consumer);
      },
    },
    {
      name: `${name}-order`,
      shows: `messages of 50 keys are ${done} in order, while those who ${does} are killed, stopped, cut off and replaced`,
      length: 'long',
      ordered: true,
      async run(world) {
        await startFleet(world, consumer, { keys: 50, rate: 100 });
        await disturb(world, 3, consumer);
      },
    },
    {
      name: `${name}-outage`,
      shows: `Redis is restarted while messages are ${done}`,
      length: 'long',
      async run(world) {
        await startFleet(world, consumer);
        await restartTwice(world);
      },
    },
  ];
}
