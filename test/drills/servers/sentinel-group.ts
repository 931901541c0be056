import { setTimeout } from 'node:timers/promises';
import type { Redis, RedisOptions } from 'ioredis';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { PRIMARY, startSentinel } from '../../support/servers/redis-sentinel.js';
import { replicasCaughtUp, replicasOf, roleOf } from '../../support/servers/replication.js';
import { until } from '../../support/waiting.js';
import { WITH_FILE } from '../../support/servers/with-file.js';
import type { Servers } from './servers.js';

const REPLICAS = 2;
const SENTINELS = 3;
const QUORUM = 2;

/** How long a primary has to be silent until a Sentinel takes it for lost, in milliseconds. */
const SILENCE = 2000;

/** How soon a failover may follow another one, in milliseconds; Sentinels wait for twice as long. */
const FAILOVER_TIMEOUT = 2000;

/** How long after the first Sentinel the last one tells of a swap at most, with time to follow; in milliseconds. */
const TELLING = 3000;

const CONFIG = [
  `sentinel down-after-milliseconds ${PRIMARY} ${SILENCE}`,
  `sentinel failover-timeout ${PRIMARY} ${FAILOVER_TIMEOUT}`,
];

/** One primary, two replicas and three Sentinels. */
export class SentinelGroup implements Servers {
  readonly #servers: PrivateRedis[] = [];
  readonly #sentinels: PrivateRedis[] = [];

  private constructor() {}

  static async start(): Promise<SentinelGroup> {
    const group = new SentinelGroup();
    try {
      const primary = await startRedis(WITH_FILE);
      group.#servers.push(primary);
      const asReplica = ['--replicaof', '127.0.0.1', String(primary.port)];
      for (let i = 0; i < REPLICAS; i++) group.#servers.push(await startRedis([...WITH_FILE, ...asReplica]));
      await replicasCaughtUp(primary, REPLICAS);
      for (let i = 0; i < SENTINELS; i++) group.#sentinels.push(await startSentinel(primary, CONFIG, QUORUM));
      await group.whole();
      return group;
    } catch (error) {
      await group.stop();
      throw error;
    }
  }

  get address(): RedisOptions {
    return { sentinels: this.#sentinels.map(({ port }) => ({ host: '127.0.0.1', port })), name: PRIMARY };
  }

  /** Ends the primary at once, waits until a replica has taken its place, and starts it again as one. */
  async killPrimary(): Promise<void> {
    const former = await this.#primary();
    await former.kill();
    await this.#promoted(former);
    await former.start();
  }

  /**
   * Lets the Sentinels swap the primary for a replica, although nothing is wrong with it. The former primary goes on confirming
   * writes until they make it a replica too, some ten seconds later.
   *
   * @returns how many scripts it still served once all Sentinels had told of its successor
   */
  async failover(): Promise<number> {
    const former = await this.#primary();
    await this.#askSentinel(async (client) => client.call('SENTINEL', 'FAILOVER', PRIMARY));
    await this.#promoted(former);
    await setTimeout(TELLING);
    const served = await scriptsServedBy(former);
    await until('the former primary to be a replica', async () => (await roleOf(former)) === 'slave', 30_000);
    return (await scriptsServedBy(former)) - served;
  }

  async killSentinels(): Promise<void> {
    await Promise.all(this.#sentinels.map(async (sentinel) => sentinel.kill()));
  }

  async startSentinels(): Promise<void> {
    await Promise.all(this.#sentinels.map(async (sentinel) => sentinel.start()));
    await this.whole();
  }

  /** Waits until the primary has its replicas, and all Sentinels know of all of them and of each other. */
  async whole(): Promise<void> {
    const expected = `slaves=${REPLICAS},sentinels=${SENTINELS}`;
    await until(
      'the group to be whole',
      async () => {
        const reports = await Promise.all(
          this.#sentinels.map(async (sentinel) => sentinel.ask(async (client) => client.info('sentinel'))),
        );
        const agreed = reports.every((report) => report.includes('status=ok,') && report.includes(expected));
        return agreed && (await replicasOf(await this.#primary())) === REPLICAS;
      },
      60_000,
    );
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#sentinels, ...this.#servers].map(async (server) => server.stop()));
  }

  /** The server that the Sentinels name as the primary. */
  async #primary(): Promise<PrivateRedis> {
    const address = await this.#askSentinel(async (client) =>
      client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', PRIMARY),
    );
    const port = Number((address as [string, string])[1]);
    const primary = this.#servers.find((server) => server.port === port);
    if (!primary) throw new Error(`The Sentinels name a primary at port ${port}, which is none of ours`);
    return primary;
  }

  async #promoted(former: PrivateRedis): Promise<void> {
    await until(
      'the Sentinels to promote a replica',
      async () => {
        const primary = await this.#primary();
        return primary !== former && (await roleOf(primary)) === 'master';
      },
      30_000,
    );
  }

  async #askSentinel<T>(question: (client: Redis) => Promise<T>): Promise<T> {
    const [sentinel] = this.#sentinels;
    if (!sentinel) throw new Error('There is no Sentinel');
    return sentinel.ask(question);
  }
}

async function scriptsServedBy(server: PrivateRedis): Promise<number> {
  const stats = await server.ask(async (client) => client.info('commandstats'));
  return Array.from(stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm), ([, calls]) => Number(calls)).reduce(
    (sum, calls) => sum + calls,
    0,
  );
}
