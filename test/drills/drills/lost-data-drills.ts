import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ConfigurationError, DelayedHandler, DelayQueueModule } from 'nestjs-delay-queue';
import { PREFIX, TOPIC } from '../../fleet/faults/programs/config.js';
import type { Drill } from '../drill.js';
import { DrillCluster } from '../servers/cluster.js';
import { MovingAddress } from '../servers/moving-address.js';
import { OneRedis } from '../servers/one-redis.js';
import { type Servers, WITH_FILE } from '../servers/servers.js';
import { DEFAULTS, PARTITIONS, type Stage } from '../stage.js';

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
      await expectKnownTopic(stage, redis);
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
      await expectKnownTopic(stage, redis);
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
      await expectKnownTopic(stage, cluster);
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
      await redis.snapshot();
      await stage.pause(AFTER_SNAPSHOT);
      // Renewals of leases are lost, too.
      await stage.disturb(
        'older snapshot',
        async () => {
          await redis.server.kill();
          await redis.server.start();
        },
        { endsLeases: true },
      );
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
    await loseClaim(stage, {
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
    await loseClaim(stage, {
      before: async () => redis.snapshot(),
      after: async () => {
        await redis.server.kill();
        await redis.server.start();
      },
    });
  },
};

/** Long enough for the replica to be detached, or the snapshot to be taken; milliseconds. */
const UNTIL_CLAIMED = 3000;
const LONG_HANDLER = 8000;

/**
 * A process claims messages, stops, and Redis forgets the claims. Once its session has ended another process claims them anew.
 * While that one's handlers run, the first goes on and settles: the checker finds an ack that took effect.
 *
 * @param data `before`: from now on Redis does not keep what it does; `after`: forgets it
 */
async function loseClaim(
  stage: Stage,
  data: { before: () => Promise<void>; after: () => Promise<void> },
): Promise<void> {
  // Heartbeats that are rarer would only make the drill longer.
  const options = { handlerTime: LONG_HANDLER, maxIdleWait: 1000 };
  const first = await stage.startConsumer(options);
  const producer = await stage.startProducer({ rate: 50, minDelay: UNTIL_CLAIMED, maxDelay: UNTIL_CLAIMED });
  await stage.pause(1000);
  stage.program(producer).send('finish');
  await stage.program(producer).exit();
  await data.before();
  const from = stage.now();
  const admin = await stage.admin();
  // A handler that began only later would run beside the other one.
  const published = stage.recorded(producer, 'publish-confirmed');
  await stage.expectSoon('no-claims', 'every handler to begin', 2 * UNTIL_CLAIMED, async () => {
    return stage.recorded(first, 'delivery-started') === published;
  });
  await stage.disturb(
    'process stopped',
    async () => {
      stage.program(first).signal('SIGSTOP');
      await data.after();
      stage.redisLost(from, stage.now());
      await stage.startConsumer(options);
      await stage.expectSoon('no-claims', 'messages to be claimed again', 2 * DEFAULTS.session, async () => {
        const { scheduled, inFlight } = await admin.stats(TOPIC);
        return scheduled === 0 && inFlight > 0;
      });
      stage.program(first).signal('SIGCONT');
    },
    { process: first, endsLeases: true },
  );
  const history = await stage.finish({ settledWithin: LONG_HANDLER + DEFAULTS.lease + 10_000 });
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

/** The topic and its number of partitions are known again, and one who wants another number does not boot. */
async function expectKnownTopic(stage: Stage, servers: Servers): Promise<void> {
  const admin = await stage.admin();
  await stage.expectSoon('topic-forgotten', 'the topic and its partitions to be known', SAID_AGAIN, async () => {
    const [topics, { partitions }] = await Promise.all([admin.topics(), admin.stats(TOPIC)]);
    return topics.includes(TOPIC) && partitions.length === PARTITIONS;
  });
  const booted = await bootNewcomer(servers, PARTITIONS + 1);
  stage.expect(
    booted instanceof ConfigurationError,
    'newcomer',
    `with ${PARTITIONS + 1} partitions: ${String(booted)}`,
  );
}

/** @returns the error that kept it from booting, or what it booted with */
async function bootNewcomer({ address }: Servers, partitions: number): Promise<unknown> {
  @Injectable()
  class Worker {
    @DelayedHandler(TOPIC)
    handle(): void {}
  }

  @Module({
    imports: [DelayQueueModule.forRoot({ redis: address, prefix: PREFIX, topics: { [TOPIC]: { partitions } } })],
    providers: [Worker],
  })
  class Newcomer {}
  try {
    const app = await NestFactory.createApplicationContext(Newcomer, { logger: false, abortOnError: false });
    await app.close();
    return `booted with ${partitions} partitions`;
  } catch (error) {
    return error;
  }
}
