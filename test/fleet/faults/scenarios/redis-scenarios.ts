import { TOPIC } from '../programs/config.js';
import { TIMING, type World } from '../world.js';
import { startFleet } from './process-scenarios.js';
import type { Scenario } from './scenario.js';

export const restartedRedis: Scenario = {
  name: 'restarted-redis',
  shows: 'Redis is killed and started again with its append-only file, in the middle of publishing and handling',
  length: 'short',
  async run(world) {
    await startFleet(world);
    await restartTwice(world);
  },
};

export async function restartTwice(world: World): Promise<void> {
  for (let i = 0; i < 2; i++) {
    await world.pause(400, 900);
    await world.fault('redis killed', undefined, async () => {
      await world.redis.kill();
      await world.pause(50, 1500);
      await world.redis.start();
    });
  }
  await world.pause(600, 900);
}

export const flushedScripts: Scenario = {
  name: 'flushed-scripts',
  shows: 'Redis forgets the scripts again and again',
  async run(world) {
    await startFleet(world);
    for (let i = 0; i < 20; i++) {
      await world.pause(20, 150);
      await world.fault('SCRIPT FLUSH', undefined, async () => {
        await world.client.script('FLUSH');
      });
    }
  },
};

export const killedConnections: Scenario = {
  name: 'killed-connections',
  shows: 'Redis ends every connection, again and again',
  async run(world) {
    await startFleet(world);
    for (let i = 0; i < 8; i++) {
      await world.pause(100, 400);
      await world.fault('CLIENT KILL', undefined, async () => {
        await world.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      });
    }
    await world.pause(300, 600);
  },
};

export const lostReplies: Scenario = {
  name: 'lost-replies',
  shows: 'scripts run, but their replies are lost, and the callers repeat them',
  length: 'short',
  async run(world) {
    await startFleet(world);
    const names = [...world.consumers, 'p4', 'p5'];
    for (let i = 0; i < 25; i++) {
      await world.pause(30, 120);
      const victim = world.random.pick(names);
      await world.fault('replies lost', victim, async () => {
        world.proxy(victim).cutRepliesAfter(Math.floor(world.random.between(0, 400)));
      });
    }
    await world.pause(300, 600);
  },
};

export const stalledConnection: Scenario = {
  name: 'stalled-connection',
  shows: 'the connections of a consumer hang for longer than its lease, and then deliver what was held back',
  async run(world) {
    await startFleet(world);
    await world.pause(300, 600);
    const victim = world.random.pick(world.consumers);
    await world.fault('stalled', victim, async () => {
      world.proxy(victim).stall();
      await world.pause(1800, 2500);
      world.proxy(victim).resume();
    });
    await world.pause(600, 900);
  },
};

export const unreachableRedis: Scenario = {
  name: 'unreachable-redis',
  shows: 'Redis refuses all connections for a while: publishers reject in time, consumers keep their settles',
  async run(world) {
    await startFleet(world, { handlerTime: 200 });
    await world.pause(400, 700);
    const names = [...world.consumers, 'p4', 'p5'];
    await world.fault('unreachable', undefined, async () => {
      for (const name of names) world.proxy(name).refuse(true);
      await world.pause(3200, 4000);
      for (const name of names) world.proxy(name).refuse(false);
    });
    await world.pause(800, 1200);
  },
};

export const longOutage: Scenario = {
  name: 'long-outage',
  shows: 'Redis is gone for 30 s: publishers reject in time, and everything recovers without help',
  length: 'long',
  async run(world) {
    await startFleet(world, { handlerTime: 200 });
    await world.pause(500, 800);
    await world.fault('redis gone', undefined, async () => {
      await world.redis.kill();
      await world.pause(30_000, 30_500);
      await world.redis.start();
    });
    await world.pause(1500, 2000);
  },
};

export const lostSignals: Scenario = {
  name: 'lost-signals',
  shows: 'the connections for signals are cut all the time, so that wake-ups are lost',
  length: 'short',
  // A lost wake-up costs maxIdleWait at most; nine more are room for a busy host.
  maxLateness: 10 * TIMING.maxIdleWait,
  async run(world) {
    await startFleet(world);
    for (let i = 0; i < 30; i++) {
      await world.pause(30, 80);
      await world.fault('CLIENT KILL pubsub', undefined, async () => {
        await world.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      });
    }
  },
};

/** How long publishing and handling may stand still while the primary moves, in milliseconds. */
const STANDSTILL = 2000;

export const movedPrimary = (times: number): Scenario => ({
  name: 'moved-primary',
  shows: 'the primary moves behind one address, and connections that stay open end at a replica',
  maxLateness: STANDSTILL,
  confirmsAll: true,
  async run(world) {
    await world.startReplica();
    // Heartbeats are rarer than the allowed lateness, so a message that waits for one is too late.
    for (let i = 0; i < 3; i++) await world.startConsumer({ maxIdleWait: 5000 });
    for (let i = 0; i < 2; i++) await world.startProducer({ rate: 250, publishTimeout: STANDSTILL });
    await world.pause(1500, 2500);
    for (let i = 0; i < times; i++) {
      await world.fault('FAILOVER', undefined, async () => world.failover(world.random.between(0, 300)));
      await world.pause(1500, 2500);
      // One that only reads is refused nothing, and might stay.
      await world.expectSoon('left-behind', 'every connection to leave the replica', STANDSTILL, async () => {
        return (await world.leftAtReplica()) === 0;
      });
    }
  },
});

export const frozenRedis: Scenario = {
  name: 'frozen-redis',
  shows: 'Redis is frozen for longer than leases and sessions: nobody is taken for gone, and no partition moves',
  length: 'long',
  async run(world) {
    await startFleet(world, { handlerTime: 200 });
    await world.allOwned(10 * TIMING.session);
    for (let i = 0; i < 3; i++) {
      await world.pause(600, 900);
      const at = world.now();
      await world.fault('SIGSTOP of Redis', undefined, async () => {
        world.redis.signal('SIGSTOP');
        await world.pause(TIMING.lease + TIMING.session, 2.5 * TIMING.lease);
        world.redis.signal('SIGCONT');
      });
      await world.pause(2 * TIMING.session, 3 * TIMING.session);
      const moves = world.records().filter((record) => record.kind === 'ownership' && record.at >= at);
      world.expect(moves.length === 0, 'moved', `${moves.length} partitions were taken or given up`);
    }
  },
};

/** How long Redis stays full, in milliseconds: longer than a lease, which outcomes that wait must not lose. */
const FULL_FOR = 3 * TIMING.lease;

/** Until when messages fall due that were published before it is full, in milliseconds. */
const BACKLOG = FULL_FOR + 1000;

export const fullRedis: Scenario = {
  name: 'full-redis',
  shows: 'Redis is full for longer than a lease: acks go on, other outcomes wait, and each counts once',
  length: 'long',
  async run(world) {
    await startFleet(world, { failures: 0.3 }, { maxDelay: BACKLOG });
    const admin = await world.admin();
    await world.pause(BACKLOG, BACKLOG + 1000);
    // This is no fault, since it excuses nothing. However much acks free, it stays full.
    await world.client.config('SET', 'maxmemory', '1');
    const { acked } = (await admin.stats(TOPIC)).counters;
    await world.pause(FULL_FOR, FULL_FOR + 500);
    const more = (await admin.stats(TOPIC)).counters.acked - acked;
    world.expect(more > 100, 'no-acks', `${more} messages were acked while Redis was full`);
    await world.client.config('SET', 'maxmemory', '0');
    await world.pause(1000, 1500);
    const stale = world.records().filter((record) => record.kind === 'settled' && record.outcome === 'stale');
    world.expect(stale.length === 0, 'stale', `${stale.length} outcomes came too late`);
  },
};
