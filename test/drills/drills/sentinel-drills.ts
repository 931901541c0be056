import type { Drill } from '../drill.js';
import { SentinelGroup } from '../servers/sentinel-group.js';
import { DEFAULTS, RATE } from '../stage.js';

/**
 * How long before its end a primary may have confirmed what its replicas did not get, in milliseconds: replicas acknowledge
 * once a second.
 */
const REPLICATION_LAG = 1000;

/** A message whose ack is lost waits for the end of its lease. Milliseconds. */
const AFTER_LOST_ACKS = DEFAULTS.lease + 10_000;

/** How long publishing and handling may stop, in milliseconds. */
const STOP_OF_A_KILL = 8000;
const STOP_OF_A_SWAP = 5000;

/**
 * Delays in a swap are as long as a former primary goes on confirming: what it has confirmed waits there, and is lost with it.
 * Milliseconds.
 */
const LONG_DELAY = 10_000;

/** How long the former primary may be written to: a Sentinel says after about a second that it has promoted another one. */
const WRITTEN_TO = 2000;

export const sentinelKill: Drill = {
  name: 'sentinel-kill',
  shows: 'the primary of a Sentinel group is killed, and started again as a replica of its successor',
  times: 20,
  short: 1,
  async run(stage, times) {
    const group = await stage.use(SentinelGroup.start());
    await stage.startFleet();
    for (let i = 0; i < times; i++) {
      await stage.pause(1500, 2500);
      const killedAt = stage.now();
      await stage.disturb('primary killed', async () => group.killPrimary());
      stage.redisLost(killedAt - REPLICATION_LAG, stage.now());
      await group.whole();
    }
    await stage.pause(1500);
    const stops = { publishingStops: STOP_OF_A_KILL, handlingStops: STOP_OF_A_KILL };
    await stage.finish({ settledWithin: AFTER_LOST_ACKS, ...stops });
  },
};

export const sentinelFailover: Drill = {
  name: 'sentinel-failover',
  shows: 'SENTINEL FAILOVER swaps the primary for a replica',
  times: 10,
  async run(stage, times) {
    const group = await stage.use(SentinelGroup.start());
    await stage.startFleet({ maxDelay: LONG_DELAY });
    for (let i = 0; i < times; i++) {
      await stage.pause(1500, 2500);
      const swappedAt = stage.now();
      await stage.disturb('SENTINEL FAILOVER', async () => {
        const served = await group.failover();
        stage.expect(served === 0, 'former-primary', `it served ${served} scripts after its successor was named`);
      });
      stage.redisLost(swappedAt, stage.now());
      await group.whole();
    }
    await stage.pause(1500);
    const stops = { publishingStops: STOP_OF_A_SWAP, handlingStops: STOP_OF_A_SWAP };
    const lost = (times * RATE * WRITTEN_TO) / 1000;
    await stage.finish({ settledWithin: AFTER_LOST_ACKS + LONG_DELAY, lost, ...stops });
  },
};

export const sentinelsAway: Drill = {
  name: 'sentinels-away',
  shows: 'all Sentinels are away: connections stay, so nothing stops; what starts meanwhile works once they are back',
  times: 3,
  async run(stage, times) {
    const group = await stage.use(SentinelGroup.start());
    await stage.startFleet();
    for (let i = 0; i < times; i++) {
      await stage.pause(1000, 2000);
      await stage.disturb('Sentinels away', async () => {
        await group.killSentinels();
        await stage.pause(5000, 10_000);
        await group.startSentinels();
      });
    }
    await stage.startConsumer();
    await stage.pause(1500);
    await stage.finish({ publishingStops: 500, handlingStops: 500, latest: 1000, confirmsAll: true });
  },
};
