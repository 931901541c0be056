import { PREFIX, TOPIC } from '../../fleet/faults/programs/config.js';
import type { Drill } from '../drill.js';
import { describe, firstDeliveries, latenessOf } from '../figures.js';
import { DrillCluster } from '../servers/cluster.js';
import { DEFAULTS, PARTITIONS, type Stage } from '../stage.js';

/** How long before its end a primary may have confirmed what its replica did not get, in milliseconds. */
const REPLICATION_LAG = 1000;

/** How long publishing and handling of the whole topic may stop, in milliseconds. Other shards go on meanwhile. */
const STOP = 2000;

/** How soon every partition has to have an owner once the cluster is whole, in milliseconds. */
const OWNED_WITHIN = 10_000;

export const clusterKill: Drill = {
  name: 'cluster-kill',
  shows: 'a primary of a cluster is killed, and started again as a replica of its successor',
  times: 10,
  short: 1,
  async run(stage, times) {
    const cluster = await stage.use(DrillCluster.start(1));
    await stage.startFleet();
    for (let i = 0; i < times; i++) {
      await stage.pause(1500, 2500);
      const victim = stage.random.pick(await cluster.primaries());
      const killedAt = stage.now();
      await stage.disturb('primary killed', async () => cluster.killPrimary(victim));
      stage.redisLost(killedAt - REPLICATION_LAG, stage.now());
      await cluster.whole();
    }
    await stage.pause(1500);
    // A message whose ack is lost waits for the end of its lease.
    await stage.finish({ settledWithin: DEFAULTS.lease + 10_000, publishingStops: STOP, handlingStops: STOP });
  },
};

export const clusterFailover: Drill = {
  name: 'cluster-failover',
  shows: 'CLUSTER FAILOVER swaps a primary for its replica, and nothing is lost',
  times: 10,
  async run(stage, times) {
    const cluster = await stage.use(DrillCluster.start(1));
    await stage.startFleet();
    for (let i = 0; i < times; i++) {
      await stage.pause(1500, 2500);
      const primary = stage.random.pick(await cluster.primaries());
      await stage.disturb('CLUSTER FAILOVER', async () => cluster.failover(primary));
      await cluster.whole();
    }
    await stage.pause(1500);
    await stage.finish({ publishingStops: STOP, handlingStops: STOP, latest: 2 * STOP, confirmsAll: true });
  },
};

/** How long the nodes are away, in milliseconds. */
const AWAY = 15_000;

export const clusterAway: Drill = {
  name: 'cluster-away',
  shows: 'all nodes of a cluster are away for 15 s: 10 s later every partition has an owner, and signals come through',
  times: 20,
  async run(stage, times) {
    const cluster = await stage.use(DrillCluster.start(0));
    await stage.startFleet({ consumers: 6, rate: 100, consumer: { watchesHealth: true } });
    for (let i = 0; i < times; i++) {
      await stage.pause(1000);
      await goAway(stage, cluster, AWAY);
    }
    await stage.finish();
  },
};

export const clusterReturn: Drill = {
  name: 'cluster-return',
  shows: 'all nodes of a cluster are killed, and one of them comes back later than the others',
  times: 5,
  short: 1,
  async run(stage, times) {
    const cluster = await stage.use(DrillCluster.start(0));
    await stage.startFleet({ consumers: 6, rate: 100, consumer: { watchesHealth: true } });
    for (let i = 0; i < times; i++) {
      await stage.pause(1000);
      await stage.disturb('nodes away', async () => {
        await Promise.all(cluster.servers.map(async (server) => server.kill()));
        const [last, ...others] = cluster.servers;
        await Promise.all(others.map(async (server) => server.start()));
        // Clients connect and disconnect a few times meanwhile, which can leave ioredis with subscribers that no longer do.
        await stage.pause(4000);
        await last?.start();
      });
      await isServed(stage, cluster);
    }
    await stage.finish();
  },
};

interface Absence {
  /** How long the shard is away, in milliseconds. */
  readonly away: number;
  /**
   * How late other shards' messages may be meanwhile: the p99, in milliseconds. On a busy host, where they are late before the
   * shard is away too, twice as late as then.
   */
  readonly othersP99: number;
}

const SHARD_AWAY: Absence = { away: 60_000, othersP99: 50 };

/** So short that the boot of a process counts, which takes the cores from the others: here they only must not stand still. */
const SHARD_AWAY_BRIEFLY: Absence = { away: 8000, othersP99: 1000 };

const BEFORE = 3000;

/** How long a process may take to boot meanwhile, in milliseconds. */
const BOOT = 15_000;

export const shardAway: Drill = {
  name: 'shard-away',
  shows:
    'one of three shards is away for 60 s: the others go on in time, a process boots, and none is reported stalled',
  times: 1,
  async run(stage, times) {
    for (let i = 0; i < times; i++) await playShardAway(stage, SHARD_AWAY);
  },
};

export const shardAwayBriefly: Drill = {
  name: 'shard-away-briefly',
  shows: 'one of three shards is away for 8 s: the others go on, a process boots, and none is reported stalled',
  times: 1,
  short: 1,
  async run(stage, times) {
    for (let i = 0; i < times; i++) await playShardAway(stage, SHARD_AWAY_BRIEFLY);
  },
};

/** How late messages in moved slots may be, in milliseconds: without signals they wait for up to a heartbeat, which is 5 s. */
const MOVED_SLOT = 4000;

export const resharding: Drill = {
  name: 'resharding',
  shows: 'slots with messages move under load, at first between primaries, then to a node that is added',
  times: 2,
  async run(stage, times) {
    const cluster = await stage.use(DrillCluster.start(1));
    await stage.startFleet();
    for (let i = 0; i < times; i++) {
      const [from, to] = stage.random.shuffled(await cluster.primaries());
      if (!from || !to) throw new Error('The cluster has no two primaries');
      const moved = (await cluster.slotsInUse(from)).slice(0, 3);
      const added = await cluster.addPrimary();
      const movedToAdded = (await cluster.slotsInUse(to)).slice(0, 3);
      await stage.disturb('slots moved', async () => {
        for (const slot of moved) await cluster.moveSlot(slot, from, to);
        for (const slot of movedToAdded) await cluster.moveSlot(slot, to, added);
      });
      stage.notes.push(`slots ${moved.join(', ')} moved, and ${movedToAdded.join(', ')} to a new node`);
      stage.expect(moved.length + movedToAdded.length > 0, 'nothing-moved', 'no slot with messages was found');
      await stage.pause(3000);
    }
    await stage.finish({ publishingStops: STOP, handlingStops: STOP, latest: MOVED_SLOT, confirmsAll: true });
  },
};

async function goAway(stage: Stage, cluster: DrillCluster, milliseconds: number): Promise<void> {
  await stage.disturb(
    'nodes away',
    async () => {
      await Promise.all(cluster.servers.map(async (server) => server.kill()));
      await stage.pause(milliseconds);
      await Promise.all(cluster.servers.map(async (server) => server.start()));
    },
    { endsLeases: true },
  );
  await isServed(stage, cluster);
}

/** The cluster is whole, and soon every partition has an owner and every process its signals. */
async function isServed(stage: Stage, cluster: DrillCluster): Promise<void> {
  await cluster.whole();
  const backAt = stage.now();
  await Promise.all([stage.allOwned(OWNED_WITHIN), stage.allListening(OWNED_WITHIN)]);
  stage.notes.push(`all went on ${(stage.now() - backAt).toFixed(0)} ms after the cluster was whole`);
}

async function playShardAway(stage: Stage, { away: milliseconds, othersP99 }: Absence): Promise<void> {
  const cluster = await stage.use(DrillCluster.start(0));
  await stage.startFleet({ rate: 200, consumer: { watchesHealth: true } });
  const [away] = stage.random.shuffled(cluster.servers);
  if (!away) throw new Error('The cluster has no node');
  const affected = await partitionsOn(stage, cluster, away.port);
  const startedAt = stage.now();
  await stage.pause(BEFORE);
  let from = 0;
  let boot = { took: Infinity, what: 'no process was started' };
  await stage.disturb(
    'shard away',
    async () => {
      await away.kill();
      from = stage.now();
      const booting = bootOne(stage);
      await stage.pause(milliseconds);
      await away.start();
      boot = await booting;
    },
    { endsLeases: true },
  );
  const until = from + milliseconds;
  await cluster.whole();
  await stage.allOwned(OWNED_WITHIN);
  const history = await stage.finish({ settledWithin: 45_000 });
  const others = firstDeliveries(history).filter(({ partition }) => !affected.has(partition));
  const before = latenessOf(others.filter(({ at }) => at > startedAt && at < from));
  const meanwhile = others.filter(({ at }) => at > from && at < until);
  const lateness = latenessOf(meanwhile);
  const allowed = Math.max(othersP99, 2 * before.p99);
  const stalled = history.records.filter((record) => record.kind === 'health' && record.stalled).length;
  stage.notes.push(
    `partitions ${[...affected].join(', ')} of ${PARTITIONS} away; the others before: ${describe(before)}`,
    `the others meanwhile: ${meanwhile.length} messages, ${describe(lateness)}`,
    `${boot.what}; ${stalled} health reports said stalled`,
  );
  stage.expect(meanwhile.length > 0, 'stopped', 'the other shards');
  stage.expect(lateness.p99 < allowed, 'late', `other shards: ${describe(lateness)}; p99 may be ${allowed.toFixed(0)}`);
  stage.expect(boot.took < Math.min(BOOT, milliseconds), 'no-boot', boot.what);
  stage.expect(stalled === 0, 'stalled', `${stalled} health reports`);
}

/** Starts one more consumer; never rejects. @returns how long it took, in milliseconds and in words */
async function bootOne(stage: Stage): Promise<{ readonly took: number; readonly what: string }> {
  const from = stage.now();
  try {
    await stage.startConsumer({ watchesHealth: true });
    const took = stage.now() - from;
    return { took, what: `a process booted in ${took.toFixed(0)} ms` };
  } catch (error) {
    return { took: Infinity, what: (error as Error).message };
  }
}

/** The partitions whose keys a node has: all keys of one share the hash tag that ends with its number. */
async function partitionsOn(stage: Stage, cluster: DrillCluster, port: number): Promise<Set<number>> {
  const server = cluster.servers.find((each) => each.port === port);
  await stage.pause(500);
  const keys = (await server?.ask(async (client) => client.keys(`{${PREFIX}:${TOPIC}:*}*`))) ?? [];
  return new Set(keys.map((key) => Number(/:(\d+)\}/.exec(key)?.[1])));
}
