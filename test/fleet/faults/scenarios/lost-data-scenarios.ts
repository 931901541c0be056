import { restoreSnapshot, takeSnapshot } from '../../../support/servers/snapshot.js';
import { expectKnownTopic } from '../known-topic.js';
import { loseClaim } from '../lose-claim.js';
import { TOPIC } from '../programs/config.js';
import { TIMING, type World } from '../world.js';
import { startFleet } from './process-scenarios.js';
import type { Scenario } from './scenario.js';

/** How soon what every process says again has to be back, in milliseconds: a heartbeat, and nine more for a busy host. */
const SAID_AGAIN = 10 * TIMING.maxIdleWait;

export const flushedRedis: Scenario = {
  name: 'flushed-redis',
  shows: 'Redis is flushed under load, and while nothing is published: what every process knows is said again',
  length: 'long',
  async run(world) {
    await startFleet(world);
    for (let i = 0; i < 3; i++) {
      await world.pause(500, 900);
      await flush(world);
      await expectKnownTopic(world, SAID_AGAIN);
    }
    await world.endProducers();
    const admin = await world.admin();
    await world.expectSoon('not-handled', 'all to be handled', 10 * SAID_AGAIN, async () => {
      const { scheduled, inFlight } = await admin.stats(TOPIC);
      return scheduled + inFlight === 0;
    });
    // Claims look once more when the last leases would have ended. Then only heartbeats are left to find out.
    await world.pause(1.5 * TIMING.lease, 2 * TIMING.lease);
    await flush(world);
    await expectKnownTopic(world, SAID_AGAIN);
    await world.allOwned(SAID_AGAIN);
    await world.startProducer();
    await world.pause(500, 900);
  },
};

export const flushedProducers: Scenario = {
  name: 'flushed-producers',
  shows: 'Redis is flushed while only producers live: the next publish says what they know again',
  length: 'long',
  async run(world) {
    for (let i = 0; i < 2; i++) await world.startProducer();
    for (let i = 0; i < 2; i++) {
      await world.pause(500, 900);
      await flush(world);
      await expectKnownTopic(world, SAID_AGAIN);
    }
    await world.startConsumer();
    await world.pause(300, 600);
  },
};

async function flush(world: World): Promise<void> {
  await world.fault('FLUSHALL', undefined, async () => {
    await world.client.flushall();
  });
  world.redisLost(-Infinity, world.now());
}

/** How long the older snapshot has been in force when it is restored, in milliseconds. */
const AFTER_SNAPSHOT = 1000;

/** Redis has no append-only file, so that a restart restores the latest snapshot. */
const SNAPSHOTS_ONLY: readonly string[] = [];

export const olderSnapshot: Scenario = {
  name: 'older-snapshot',
  shows: 'Redis starts again with an older snapshot: what was done since is lost, and nothing else',
  length: 'long',
  server: SNAPSHOTS_ONLY,
  async run(world) {
    await startFleet(world);
    for (let i = 0; i < 3; i++) {
      await world.pause(500, 900);
      const takenAt = world.now();
      await takeSnapshot(world.redis);
      await world.pause(AFTER_SNAPSHOT / 2, AFTER_SNAPSHOT);
      await world.fault('older snapshot', undefined, async () => restoreSnapshot(world.redis));
      world.redisLost(takenAt, world.now());
    }
    await world.pause(600, 900);
  },
};

export const lostClaim: Scenario = {
  name: 'lost-claim',
  shows: 'an older snapshot loses claims of a process that is stopped, and another one claims the messages again',
  length: 'long',
  server: SNAPSHOTS_ONLY,
  async run(world) {
    await loseClaim(
      world,
      { before: async () => takeSnapshot(world.redis), after: async () => restoreSnapshot(world.redis) },
      // Of the heartbeats that it chooses.
      2000,
    );
  },
};
