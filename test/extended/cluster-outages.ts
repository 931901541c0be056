import { setTimeout as sleep } from 'node:timers/promises';
import { type INestApplicationContext, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import {
  DelayedHandler,
  type DelayedMessage,
  DelayQueueAdmin,
  DelayQueueHealth,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  DelayQueueProducer,
} from 'nestjs-delay-queue';
import { until } from '../support/waiting.js';
import { type PrivateCluster, startRedisCluster } from '../support/servers/redis-cluster.js';

const CONSUMERS = 6;
const TOPIC = 'work';
const PARTITIONS = 12;

/** Messages per second, and how long each waits at most, in milliseconds. */
const RATE = 100;
const MAX_DELAY = 1000;

/** How soon everything has to work after a cluster is complete again, in milliseconds. */
const RECOVERY = 10_000;

/** The result of outages of a fleet's cluster. */
export interface OutageResult {
  readonly confirmed: number;
  /** Confirmed messages that were not handled {@link RECOVERY} after the last outage. */
  readonly unhandled: readonly string[];
  /** For each outage, how soon every partition had an owner and every process its signals, in milliseconds. */
  readonly recoveries: readonly number[];
}

/**
 * Runs six consumers and a publisher with default settings on a cluster of three, whose nodes all stop and start again.
 *
 * @param away stops the nodes and starts them again
 * @throws if partitions have no owner, or processes no signals, 10 s after the cluster is complete
 */
export async function playClusterOutages(
  times: number,
  away: (cluster: PrivateCluster) => Promise<void>,
): Promise<OutageResult> {
  const cluster = await startRedisCluster(3, ['--appendonly', 'yes', '--appendfsync', 'always']);
  const handled = new Set<string>();
  const apps: INestApplicationContext[] = [];
  try {
    for (let i = 0; i < CONSUMERS; i++) apps.push(await startConsumer(cluster, handled));
    const publisher = await startApp(cluster, { consumer: false, publishTimeout: '2s' });
    apps.push(publisher);
    const load = new Load(publisher.get(DelayQueueProducer));
    await until('every partition to have an owner', () => isServed(publisher, apps.slice(0, CONSUMERS)), RECOVERY);
    const recoveries: number[] = [];
    for (let i = 0; i < times; i++) {
      await sleep(1000);
      await away(cluster);
      await isWhole(cluster);
      const backAt = performance.now();
      await until(
        'every partition to have an owner, and every process its signals',
        () => isServed(publisher, apps.slice(0, CONSUMERS)),
        RECOVERY,
      );
      recoveries.push(Math.round(performance.now() - backAt));
    }
    await load.stop();
    const unhandled = (): string[] => [...load.confirmed].filter((id) => !handled.has(id));
    await until('all to be handled', () => unhandled().length === 0, RECOVERY).catch(() => {});
    return { confirmed: load.confirmed.size, unhandled: unhandled(), recoveries };
  } finally {
    // While nodes are away, applications take long to close.
    await Promise.all(apps.map(async (app) => app.close()));
    await cluster.stop();
  }
}

/** Stops all nodes at once and starts them at once. */
export async function goAway(cluster: PrivateCluster, milliseconds: number): Promise<void> {
  await Promise.all(cluster.servers.map(async (server) => server.kill()));
  await sleep(milliseconds);
  await Promise.all(cluster.servers.map(async (server) => server.start()));
}

/**
 * Stops all nodes at once and starts one of them later than the others. Meanwhile the cluster answers that it is down, and
 * clients connect and disconnect, which can leave ioredis with subscribers that no longer connect.
 */
export async function comeBackByHalves(cluster: PrivateCluster, milliseconds: number): Promise<void> {
  const [last, ...others] = cluster.servers;
  await Promise.all(cluster.servers.map(async (server) => server.kill()));
  await Promise.all(others.map(async (server) => server.start()));
  await sleep(milliseconds);
  await last?.start();
}

/** Publishes all the time, and records what was confirmed. */
class Load {
  readonly confirmed = new Set<string>();
  readonly #producer: DelayQueueProducer;
  readonly #timer: NodeJS.Timeout;
  readonly #pending = new Set<Promise<void>>();
  #count = 0;

  constructor(producer: DelayQueueProducer) {
    this.#producer = producer;
    this.#timer = setInterval(() => this.#publish(), 1000 / RATE);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#pending);
  }

  #publish(): void {
    const id = `m${++this.#count}`;
    const publishing = this.#producer
      .publish(TOPIC, 'payload', { id, delay: Math.random() * MAX_DELAY })
      .then(
        () => void this.confirmed.add(id),
        // What was not confirmed may be lost.
        () => {},
      )
      .finally(() => this.#pending.delete(publishing));
    this.#pending.add(publishing);
  }
}

async function startConsumer(cluster: PrivateCluster, handled: Set<string>): Promise<INestApplicationContext> {
  @Injectable()
  class Worker {
    @DelayedHandler(TOPIC)
    handle(_payload: unknown, { id }: DelayedMessage): void {
      handled.add(id);
    }
  }
  return startApp(cluster, {}, [Worker]);
}

async function startApp(
  { nodes }: PrivateCluster,
  options: DelayQueueModuleOptions,
  providers: (new () => object)[] = [],
): Promise<INestApplicationContext> {
  @Module({
    imports: [
      DelayQueueModule.forRoot({ redis: { nodes }, topics: { [TOPIC]: { partitions: PARTITIONS } }, ...options }),
    ],
    providers,
  })
  class App {}
  return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
}

/** Whether every partition has an owner and every consumer gets signals. */
async function isServed(
  publisher: INestApplicationContext,
  consumers: readonly INestApplicationContext[],
): Promise<boolean> {
  try {
    const { partitions } = await publisher.get(DelayQueueAdmin).stats(TOPIC);
    if (partitions.some(({ owner }) => owner === undefined)) return false;
    const reports = await Promise.all(consumers.map(async (app) => app.get(DelayQueueHealth).check({ timeout: 1000 })));
    return reports.every(({ connection }) => connection.signals === 'up');
  } catch {
    return false;
  }
}

async function isWhole({ nodes }: PrivateCluster): Promise<void> {
  const clients = nodes.map((node) => new Redis(node));
  try {
    await until(
      'the cluster to be whole',
      async () => {
        const states = await Promise.all(clients.map(async (client) => client.cluster('INFO')));
        return states.every((state) => state.includes('cluster_state:ok'));
      },
      30_000,
    );
  } finally {
    for (const client of clients) client.disconnect();
  }
}
