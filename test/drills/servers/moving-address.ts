import { setTimeout as sleep } from 'node:timers/promises';
import { FaultProxy } from '../../support/servers/fault-proxy.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { replicasCaughtUp, roleOf, swapRoles } from '../../support/servers/replication.js';
import { until } from '../../support/waiting.js';
import { WITH_FILE } from '../../support/servers/with-file.js';
import type { Servers } from './servers.js';

/** One address in front of a primary and a replica, like that of a managed service or of a load balancer. */
export class MovingAddress implements Servers {
  #primary: PrivateRedis;
  #replica: PrivateRedis;

  private constructor(
    readonly proxy: FaultProxy,
    primary: PrivateRedis,
    replica: PrivateRedis,
  ) {
    this.#primary = primary;
    this.#replica = replica;
  }

  static async start(): Promise<MovingAddress> {
    const primary = await startRedis(WITH_FILE);
    try {
      const replica = await startRedis([...WITH_FILE, '--replicaof', '127.0.0.1', String(primary.port)]);
      const servers = new MovingAddress(await FaultProxy.start(primary.port), primary, replica);
      await replicasCaughtUp(primary);
      return servers;
    } catch (error) {
      await primary.stop();
      throw error;
    }
  }

  get address(): string {
    return this.proxy.url;
  }

  /**
   * Swaps primary and replica, and after a while leads the address to the new primary. Connections that are open stay open,
   * and end at a replica.
   *
   * @param lag until new connections lead to the new primary, in milliseconds
   */
  async failover(lag: number): Promise<void> {
    const [former, next] = [this.#primary, this.#replica];
    await swapRoles(former, next);
    await sleep(lag);
    [this.#primary, this.#replica] = [next, former];
    this.proxy.point(next.port);
  }

  /** Makes the replica a primary of its own: it gets nothing any more that the other one is told. */
  async detachReplica(): Promise<void> {
    await replicasCaughtUp(this.#primary);
    await this.#replica.ask(async (client) => client.replicaof('NO', 'ONE'));
    await until('the replica to be a primary', async () => (await roleOf(this.#replica)) === 'master');
  }

  /** Ends the primary, and leads the address to the replica that was detached. */
  async loseThePrimary(): Promise<void> {
    await this.#primary.kill();
    this.proxy.point(this.#replica.port);
  }

  async stop(): Promise<void> {
    await this.proxy.close();
    await Promise.all([this.#primary.stop(), this.#replica.stop()]);
  }
}
