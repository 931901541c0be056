import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DelayQueueError, DelayQueueModule, DelayQueueProducer, type ReplicaOptions } from 'nestjs-delay-queue';
import type { SeededRandom } from '../support/random.js';
import { PRIMARY, startSentinel } from '../support/servers/redis-sentinel.js';
import type { PrivateRedis } from '../support/servers/redis-server.js';
import { type ReplicatedRedis, startReplica, startReplicated } from '../support/servers/replicated-redis.js';
import { until } from '../support/waiting.js';

const PREFIX = 'kills';
const PARTITIONS = 8;

/** Publishes that are under way at any time. */
const IN_THE_AIR = 100;

/** Longest time from one kill to publishes that are confirmed again by all replicas, in milliseconds. */
const RECOVERY = 60_000;

const SENTINELS = 3;

/** A primary that is silent for 2 s is dead, so that kills follow each other quickly, and a busy host seldom looks dead. */
const SENTINEL_CONFIG = [
  `sentinel down-after-milliseconds ${PRIMARY} 2000`,
  `sentinel failover-timeout ${PRIMARY} 4000`,
  `sentinel parallel-syncs ${PRIMARY} 1`,
];

/** What became of the publishes of one drill. */
export interface KillResult {
  readonly confirmed: number;
  /** Ids of confirmed messages that Redis did not hold after the failover. */
  readonly lost: readonly string[];
  /** Publishes that were not confirmed, by the code of their error. */
  readonly failed: Readonly<Record<string, number>>;
  /** For each kill, the longest time without a confirmation around it, in milliseconds. */
  readonly gaps: readonly number[];
}

/** What dies at once: the primary, or the primary and one replica, after the other replica was cut off for a moment. */
export type Victims = 'the primary' | 'the primary and a replica';

/** How long a replica is cut off, in milliseconds. */
const CUT_OFF = 500;

/**
 * Kills the primary of two replicas again and again while messages are published, has three Sentinels promote a replica each
 * time, and looks whether the new primary has all messages that were confirmed. Each killed server is replaced by a new one.
 *
 * @param replicas that have to confirm each publish; `undefined`: none
 */
export async function playKills(
  kills: number,
  victims: Victims,
  replicas: ReplicaOptions | undefined,
  random: SeededRandom,
): Promise<KillResult> {
  const set = await SentinelSet.start();
  const app = await startPublisher(set, replicas);
  let confirmed = 0;
  const lost: string[] = [];
  const failed: Record<string, number> = {};
  const gaps: number[] = [];
  let running: Load | undefined;
  try {
    for (let kill = 0; kill < kills; kill++) {
      // Each kill has a topic of its own, so that no other kill can lose or restore its messages.
      const load = (running = new Load(app.get(DelayQueueProducer), `kill-${kill}`));
      await until('publishes to be confirmed', () => load.confirmed.size > 0, RECOVERY);
      await new Promise((resolve) => setTimeout(resolve, random.between(200, 1200)));
      await set.kill(victims);
      const confirmedBefore = load.confirmed.size;
      await until(
        'publishes to be confirmed again',
        () => load.confirmed.size > confirmedBefore + IN_THE_AIR,
        RECOVERY,
      );
      await load.stop();
      const held = await set.idsOf(load.topic);
      for (const id of load.confirmed) if (!held.has(id)) lost.push(id);
      confirmed += load.confirmed.size;
      for (const [code, count] of load.failed) failed[code] = (failed[code] ?? 0) + count;
      gaps.push(Math.round(load.longestGap));
    }
    return { confirmed, lost, failed, gaps };
  } finally {
    await running?.stop();
    await app.close();
    await set.stop();
  }
}

/** Publishes all the time with {@link IN_THE_AIR} under way, and records what was confirmed. */
class Load {
  readonly confirmed = new Set<string>();
  readonly failed = new Map<string, number>();
  readonly topic: string;
  longestGap = 0;
  readonly #producer: DelayQueueProducer;
  readonly #publishers: readonly Promise<void>[];
  #lastAt = performance.now();
  #count = 0;
  #stopped = false;

  constructor(producer: DelayQueueProducer, topic: string) {
    this.#producer = producer;
    this.topic = topic;
    this.#publishers = Array.from({ length: IN_THE_AIR }, async () => this.#publishAll());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#publishers);
  }

  async #publishAll(): Promise<void> {
    while (!this.#stopped) {
      const id = `${this.topic}-${++this.#count}`;
      try {
        await this.#producer.publish(this.topic, {}, { id, delay: '1h' });
        this.#confirm(id);
      } catch (error) {
        const code = error instanceof DelayQueueError ? error.code : String(error);
        this.failed.set(code, (this.failed.get(code) ?? 0) + 1);
      }
    }
  }

  #confirm(id: string): void {
    this.confirmed.add(id);
    const now = performance.now();
    this.longestGap = Math.max(this.longestGap, now - this.#lastAt);
    this.#lastAt = now;
  }
}

/** A primary with two replicas that three Sentinels watch. */
class SentinelSet {
  readonly sentinels: readonly PrivateRedis[];
  readonly #clients: readonly Redis[];
  #servers: PrivateRedis[];

  private constructor({ primary, replicas }: ReplicatedRedis, sentinels: readonly PrivateRedis[]) {
    this.#servers = [primary, ...replicas];
    this.sentinels = sentinels;
    this.#clients = sentinels.map(({ url }) => new Redis(url));
  }

  static async start(): Promise<SentinelSet> {
    const redis = await startReplicated(2);
    const sentinels: PrivateRedis[] = [];
    try {
      while (sentinels.length < SENTINELS) sentinels.push(await startSentinel(redis.primary, SENTINEL_CONFIG));
    } catch (error) {
      await Promise.all([redis, ...sentinels].map(async (server) => server.stop()));
      throw error;
    }
    return new SentinelSet(redis, sentinels);
  }

  /** Kills servers once the primary has two replicas, and adds as many replicas once another server is the primary. */
  async kill(victims: Victims): Promise<void> {
    const primary = await this.#whole();
    const killed = [primary];
    if (victims === 'the primary and a replica') {
      const [near, far] = this.#servers.filter((server) => server !== primary) as [PrivateRedis, PrivateRedis];
      killed.push(near);
      await cutOff(far);
      await new Promise((resolve) => setTimeout(resolve, CUT_OFF));
    }
    await Promise.all(killed.map(async (server) => server.kill()));
    this.#servers = this.#servers.filter((server) => !killed.includes(server));
    const next = await until('another primary', async () => this.#primary(), RECOVERY);
    for (const server of killed) {
      await server.stop();
      this.#servers.push(await startReplica(next));
    }
  }

  /** What the primary holds of a topic, once it has two replicas. */
  async idsOf(topic: string): Promise<Set<string>> {
    const { url } = await this.#whole();
    const redis = new Redis(url);
    const keys = Array.from({ length: PARTITIONS }, (_, index) => `{${PREFIX}:${topic}:${index}}:messages`);
    const ids = await Promise.all(keys.map(async (key) => redis.hkeys(key)));
    redis.disconnect();
    return new Set(ids.flat());
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    await Promise.all([...this.sentinels, ...this.#servers].map(async (server) => server.stop()));
  }

  /** The primary, once all Sentinels know it and two replicas that can take its place. A busy host may have moved it by itself. */
  async #whole(): Promise<PrivateRedis> {
    return until(
      'the Sentinels to know a primary and two replicas',
      async () => {
        const primary = await this.#primary();
        const known = await Promise.all(this.#clients.map(replicasKnownTo));
        const others = this.#servers.filter((server) => server !== primary);
        const isWhole = known.every((ports) => others.every(({ port }) => ports.includes(String(port))));
        return isWhole ? primary : undefined;
      },
      RECOVERY,
    );
  }

  /** The server that all Sentinels name as the primary. */
  async #primary(): Promise<PrivateRedis | undefined> {
    const addresses = await Promise.all(
      this.#clients.map(async (client) => client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', PRIMARY)),
    );
    return this.#servers.find(({ port }) => addresses.every((address) => String(address).endsWith(`,${port}`)));
  }
}

/** Leads a replica to where no primary is, until the Sentinels notice. */
async function cutOff({ url }: PrivateRedis): Promise<void> {
  const redis = new Redis(url);
  await redis.replicaof('127.0.0.1', 1);
  redis.disconnect();
}

/** The ports of the replicas that follow the primary. */
async function replicasKnownTo(sentinel: Redis): Promise<string[]> {
  const replicas = ((await sentinel.call('SENTINEL', 'REPLICAS', PRIMARY)) as string[][]).map(toFields);
  const following = replicas.filter(({ flags, 'master-link-status': link }) => flags === 'slave' && link === 'ok');
  return following.map(({ port = '' }) => port);
}

function toFields(flat: readonly string[]): Partial<Record<string, string>> {
  return Object.fromEntries(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]]] : [])));
}

async function startPublisher(
  { sentinels }: SentinelSet,
  replicas: ReplicaOptions | undefined,
): Promise<INestApplicationContext> {
  @Module({
    imports: [
      DelayQueueModule.forRoot({
        redis: { name: PRIMARY, sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })) },
        prefix: PREFIX,
        defaults: { partitions: PARTITIONS },
        consumer: false,
        ...(replicas && { replicas }),
      }),
    ],
  })
  class Publisher {}
  return NestFactory.createApplicationContext(Publisher, { logger: false, abortOnError: false });
}
