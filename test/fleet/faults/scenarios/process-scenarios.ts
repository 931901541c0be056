import { type ConsumerConfig, type PublisherConfig, TOPIC } from '../programs/config.js';
import { TIMING, type World } from '../world.js';
import type { Scenario } from './scenario.js';

export const killedConsumers: Scenario = {
  name: 'killed-consumers',
  shows: 'consumers are killed at any moment: while claiming, handling, or between handling and ack',
  length: 'short',
  async run(world) {
    await startFleet(world);
    for (let i = 0; i < 4; i++) {
      await world.pause(100, 700);
      await kill(world, world.random.pick(world.consumers));
      await world.startConsumer();
    }
    await world.pause(300, 600);
  },
};

export const stoppedConsumer: Scenario = {
  name: 'stopped-consumer',
  shows: 'a consumer is stopped for longer than its lease and its session, then continues',
  async run(world) {
    // Its messages must still run elsewhere when it continues and settles them too late.
    await startFleet(world, { handlerTime: 1.5 * TIMING.lease, concurrency: 500 });
    for (let i = 0; i < 2; i++) {
      await world.pause(300, 600);
      const victim = world.random.pick(world.consumers);
      await world.fault('SIGSTOP', victim, async () => {
        world.program(victim).signal('SIGSTOP');
        await world.pause(TIMING.lease + TIMING.session, 2 * TIMING.lease);
        world.program(victim).signal('SIGCONT');
      });
      await world.pause(600, 900);
    }
  },
};

export const blockedEventLoop: Scenario = {
  name: 'blocked-event-loop',
  shows: 'the event loop of a consumer is blocked for longer than the lease',
  async run(world) {
    await world.startConsumer({ handlerTime: 300 });
    await world.startConsumer({ handlerTime: 300 });
    await world.startProducer();
    for (let i = 0; i < 2; i++) {
      await world.pause(300, 600);
      const victim = world.random.pick(world.consumers);
      const block = world.random.between(TIMING.lease * 1.2, TIMING.lease * 2);
      await world.fault('blocked', victim, async () => {
        world.program(victim).send({ block });
        await world.pause(block, block + 50);
      });
      await world.pause(600, 900);
    }
  },
};

export const blockedAlone: Scenario = {
  name: 'blocked-alone',
  shows: 'the event loop of the only consumer is blocked for longer than the lease while its handlers run',
  async run(world) {
    const consumer = await world.startConsumer({ handlerTime: 4 * TIMING.lease, concurrency: 500 });
    await world.startProducer({ rate: 100 });
    for (let i = 0; i < 3; i++) {
      await world.pause(500, 1000);
      const block = world.random.between(TIMING.lease * 1.2, TIMING.lease * 2);
      await world.fault('blocked', consumer, async () => {
        world.program(consumer).send({ block });
        await world.pause(block, block + 50);
      });
    }
  },
};

export const slowHandlers: Scenario = {
  name: 'slow-handlers',
  shows: 'handlers run for several leases',
  async run(world) {
    for (let i = 0; i < 2; i++) await world.startConsumer({ handlerTime: 3 * TIMING.lease, concurrency: 500 });
    await world.startProducer({ rate: 100 });
    await world.pause(2000, 3000);
  },
};

export const twicePublished: Scenario = {
  name: 'twice-published',
  shows: 'ids are published twice at once, while connections are lost',
  async run(world) {
    for (let i = 0; i < 2; i++) await world.startConsumer();
    const publisher = await world.startProducer({ twins: 0.3 });
    for (let i = 0; i < 5; i++) {
      await world.pause(100, 300);
      await world.fault('reset', publisher, async () => world.proxy(publisher).reset());
    }
  },
};

export const comingAndGoing: Scenario = {
  name: 'coming-and-going',
  shows: 'consumers join and leave gracefully while messages flow',
  length: 'short',
  async run(world) {
    await startFleet(world);
    for (let i = 0; i < 3; i++) {
      await world.pause(200, 500);
      const leaver = world.random.pick(world.consumers);
      await Promise.all([leave(world, leaver), world.startConsumer()]);
    }
    await world.pause(300, 500);
  },
};

/**
 * How soon a topic that goes on has to have handed out what fell due meanwhile, in milliseconds: a third of the time after which
 * a process looks again that was not told.
 */
const GOES_ON = 5000;

export const pausedTopic: Scenario = {
  name: 'paused-topic',
  shows: 'a topic is paused and resumed while its owners are killed',
  length: 'long',
  async run(world) {
    await startFleet(world);
    const admin = await world.admin();
    for (let i = 0; i < 3; i++) {
      await world.pause(300, 600);
      await admin.pause(TOPIC);
      const { delivered } = (await admin.stats(TOPIC)).counters;
      await kill(world, world.random.pick(world.consumers));
      await world.startConsumer();
      await world.pause(TIMING.session + TIMING.lease, TIMING.session + 2 * TIMING.lease);
      const more = (await admin.stats(TOPIC)).counters.delivered - delivered;
      world.expect(more === 0, 'not-paused', `${more} deliveries were made`);
      // Its partitions have no owner to be told.
      await kill(world, world.random.pick(world.consumers));
      await admin.resume(TOPIC);
      await world.startConsumer();
      await world.expectSoon('still-paused', 'what fell due to be handed out', GOES_ON, async () => {
        const { paused, oldestDueAt } = await admin.stats(TOPIC);
        return !paused && world.now() - (oldestDueAt?.getTime() ?? world.now()) < TIMING.session;
      });
    }
  },
};

/** Of four processes that are replaced, how many are killed. */
const KILLED = 1;

export const rolledFleet: Scenario = {
  name: 'rolled-fleet',
  shows: 'every process of a fleet is replaced, one after the other, and some of them are killed',
  length: 'long',
  async run(world) {
    for (let i = 0; i < 4; i++) await world.startConsumer();
    for (let i = 0; i < 2; i++) await world.startProducer();
    const producers = world.producers;
    const consumers = world.random.shuffled(world.consumers);
    for (const [i, name] of consumers.entries()) {
      await world.pause(200, 500);
      await world.startConsumer();
      if (i < KILLED) await kill(world, name);
      else await leave(world, name);
    }
    for (const name of producers) {
      await world.pause(200, 500);
      await world.startProducer();
      world.program(name).send('finish');
      await world.program(name).exit();
    }
    await world.pause(300, 600);
  },
};

/**
 * Consumers are cut off for a moment, killed, stopped and replaced, some of them again and again.
 *
 * @param consumer what those are started with that take the place of others
 */
export async function disturb(world: World, rounds: number, consumer: Partial<ConsumerConfig> = {}): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    await world.pause(300, 700);
    const victim = world.random.pick(world.consumers);
    await world.fault('reset', victim, async () => world.proxy(victim).reset());
    await world.pause(200, 400);
    await kill(world, world.random.pick(world.consumers));
    await world.startConsumer(consumer);
    const stopped = world.random.pick(world.consumers);
    await world.fault('SIGSTOP', stopped, async () => {
      world.program(stopped).signal('SIGSTOP');
      await world.pause(TIMING.lease + TIMING.session, 2 * TIMING.lease);
      world.program(stopped).signal('SIGCONT');
    });
    await Promise.all([leave(world, world.random.pick(world.consumers)), world.startConsumer(consumer)]);
  }
  await world.pause(300, 600);
}

/** Ends a process gracefully. */
export async function leave(world: World, name: string): Promise<void> {
  world.program(name).signal('SIGTERM');
  await world.program(name).exit();
}

/** Starts three consumers and two publishers. */
export async function startFleet(
  world: World,
  consumer: Partial<ConsumerConfig> = {},
  producer: Partial<PublisherConfig> = {},
): Promise<void> {
  for (let i = 0; i < 3; i++) await world.startConsumer(consumer);
  for (let i = 0; i < 2; i++) await world.startProducer(producer);
}

export async function kill(world: World, victim: string): Promise<void> {
  await world.fault('SIGKILL', victim, () => world.program(victim).kill(), true);
}
