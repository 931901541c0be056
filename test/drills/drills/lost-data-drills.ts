import { expectKnownTopic } from '../../fleet/faults/known-topic.js';
import { type LosingData, loseClaim } from '../../fleet/faults/lose-claim.js';
import { restoreSnapshot, takeSnapshot } from '../../support/servers/snapshot.js';
import type { Drill } from '../drill.js';
import { DrillCluster } from '../servers/cluster.js';
import { MovingAddress } from '../servers/moving-address.js';
import { OneRedis } from '../servers/one-redis.js';
import { WITH_FILE } from '../../support/servers/with-file.js';
import { DEFAULTS, type Stage } from '../stage.js';

/** How soon what every process says again has to be back, in milliseconds: a heartbeat, and as much again on a busy host. */
const SAID_AGAIN = 2 * DEFAULTS.heartbeat;

/** How long the older snapshot has to be in force before it is restored, in milliseconds. */
const AFTER_SNAPSHOT = 3000;

/** Leases that end within a drill. Milliseconds. */
const SHORT_LEASE = 5000;

export const flush: Drill = {
  name: 'flush',
  shows:
    'FLUSHALL under load: what is confirmed afterwards is handled, and the topic is known again within a heartbeat',
  times: 3,
  short: 1,
  async run(stage, times) {
    const redis = await stage.use(OneRedis.start(WITH_FILE));
    await stage.startFleet();
    for (let i = 0; i < times; i++) {
      await stage.pause(1500, 2500);
      await stage.disturb('FLUSHALL', async () => redis.flush());
      stage.redisLost(-Infinity, stage.now());
      await expectKnownTopic(stage, SAID_AGAIN);
    }
    await stage.pause(1500);
    await stage.finish();
  },
};

export const flushBetween: Drill = {
  name: 'flush-between',
  shows: 'FLUSHALL while only producers live: the next publish brings the partitions back, for all that comes later',
  times: 1,
  short: 1,
  async run(stage, times) {
    const redis = await stage.use(OneRedis.start(WITH_FILE));
    await stage.startProducer({ rate: 100 });
    for (let i = 0; i < times; i++) {
      await stage.pause(1000);
      await stage.disturb('FLUSHALL', async () => redis.flush());
      stage.redisLost(-Infinity, stage.now());
      await stage.pause(1000);
      await expectKnownTopic(stage, SAID_AGAIN);
    }
    await stage.startConsumer();
    await stage.finish();
  },
};

export const emptiedShard: Drill = {
  name: 'emptied-shard',
  shows: 'one shard of a cluster is emptied under load: what is confirmed afterwards is handled',
  times: 3,
  async run(stage, times) {
    const cluster = await stage.use(DrillCluster.start(0));
    await stage.startFleet();
    for (let i = 0; i < times; i++) {
      await stage.pause(1500, 2500);
      const shard = cluster.servers[i % cluster.servers.length];
      await stage.disturb('FLUSHALL of a shard', async () => {
        await shard?.ask(async (client) => client.flushall());
      });
      stage.redisLost(-Infinity, stage.now());
      await expectKnownTopic(stage, SAID_AGAIN);
      await stage.allOwned(SAID_AGAIN);
    }
    await stage.pause(1500);
    await stage.finish();
  },
};

export const olderSnapshot: Drill = {
  name: 'older-snapshot',
  shows: 'Redis starts again with an older snapshot: what was done since is lost, and nothing else',
  times: 3,
  short: 1,
  async run(stage, times) {
    const redis = await stage.use(OneRedis.start([]));
    await stage.startFleet({ consumer: { lease: SHORT_LEASE } });
    for (let i = 0; i < times; i++) {
      await stage.pause(1500, 2500);
      const takenAt = stage.now();
      await takeSnapshot(redis.server);
      await stage.pause(AFTER_SNAPSHOT);
      // Renewals of leases are lost, too.
      await stage.disturb('older snapshot', async () => restoreSnapshot(redis.server), { endsLeases: true });
      stage.redisLost(takenAt, stage.now());
    }
    await stage.pause(1500);
    await stage.finish({ settledWithin: SHORT_LEASE + 10_000 });
  },
};

export const claimLostByFailover: Drill = {
  name: 'claim-lost-by-failover',
  shows: 'a failover loses a claim, and another process claims the message: the receipt of the first is refused',
  times: 1,
  short: 1,
  async run(stage) {
    const servers = await stage.use(MovingAddress.start());
    await playLostClaim(stage, {
      before: async () => servers.detachReplica(),
      after: async () => servers.loseThePrimary(),
    });
  },
};

export const claimLostBySnapshot: Drill = {
  name: 'claim-lost-by-snapshot',
  shows: 'an older snapshot loses a claim, and another process claims the message: the receipt of the first is refused',
  times: 1,
  async run(stage) {
    const redis = await stage.use(OneRedis.start([]));
    await playLostClaim(stage, {
      before: async () => takeSnapshot(redis.server),
      after: async () => restoreSnapshot(redis.server),
    });
  },
};

async function playLostClaim(stage: Stage, data: LosingData): Promise<void> {
  const { first, handlerTime } = await loseClaim(stage, data, DEFAULTS.session);
  const history = await stage.finish({ settledWithin: handlerTime + DEFAULTS.lease + 10_000 });
  const outcomes = (process: (name: string) => boolean, outcome: string): number =>
    history.records.filter(
      (record) => record.kind === 'settled' && process(record.process) && record.outcome === outcome,
    ).length;
  const ofFirst = (name: string): boolean => name === first;
  stage.notes.push(
    `of the process that was stopped: ${outcomes(ofFirst, 'acked')} acked, ${outcomes(ofFirst, 'stale')} refused; ` +
      `of the other: ${outcomes((name) => name !== first, 'acked')} acked`,
  );
}
