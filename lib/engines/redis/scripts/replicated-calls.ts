import type { Cluster, Redis } from 'ioredis';
import { BrokerUnavailableError } from '../../../errors/operation.errors.js';
import { type ReplicaRequirement, RequirementNumbers } from '../../../messages/replicas.js';
import type { Log } from '../../../log.js';
import type { Clock } from '../../../time/clock.js';
import type { Argument } from '../../../store/lua/lua-script.js';
import type { RedisClient } from '../connection/redis-clients.js';
import type { RedisConnection } from '../connection/redis-connection.js';
import { isConnectionLoss, isMoved } from '../connection/redis-errors.js';
import { type ConfirmedReply, ReplicatedLink, type ScriptCommand } from './replicated-link.js';
import type { ScriptClient } from './script-runner.js';

export interface ReplicatedCallsOptions {
  readonly connection: RedisConnection;
  readonly clock: Clock;
}

/**
 * Runs scripts that replicas have to confirm, on connections of their own to each primary, made at their first use: one for each of a few
 * requirements, since WAIT keeps its connection busy.
 */
export class ReplicatedCalls {
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  /** By the primary's host and port in a Cluster, and by the number of the connection. */
  readonly #links = new Map<string, ReplicatedLink>();
  /** Of the connections. */
  readonly #numbers = new RequirementNumbers();
  #isAllowed = false;

  constructor({ connection, clock }: ReplicatedCallsOptions) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Sends one script, and knows afterwards how many replicas have confirmed it. */
  newCall(replicas: ReplicaRequirement): ReplicatedCall {
    return new ReplicatedCall((key, command) => this.#run(key, command, replicas));
  }

  /**
   * Asks Redis once whether WAIT may be used: without replicas to wait for, it answers at once.
   *
   * @throws BrokerUnavailableError
   */
  async assertAllowed(): Promise<void> {
    if (this.#isAllowed) return;
    try {
      await this.#connection.send((redis) => redis.wait(0, 1));
    } catch (error) {
      if (!(error instanceof BrokerUnavailableError) || error.transient) throw error;
      throw new BrokerUnavailableError(
        `Replicas cannot confirm publishes, since Redis at ${this.#connection.address} refuses WAIT. Allow it (ACL SETUSER ` +
          `<user> +wait), or leave out the option 'replicas'. Nothing was published. ${error.message}`,
        { cause: error, transient: false },
      );
    }
    this.#isAllowed = true;
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
  }

  async #run(key: string, command: ScriptCommand, replicas: ReplicaRequirement): Promise<ConfirmedReply> {
    await this.assertAllowed();
    const { commands } = this.#connection;
    const number = this.#numbers.of(replicas);
    if (!commands.isCluster) return this.#link(`${number}`, () => commands as Redis).run(command, replicas);
    const cluster = commands as Cluster;
    try {
      return await this.#linkInCluster(cluster, key, number).run(command, replicas);
    } catch (error) {
      if (isMoved(error) || isConnectionLoss(error)) cluster.refreshSlotsCache();
      throw error;
    }
  }

  #linkInCluster(cluster: Cluster, key: string, number: number): ReplicatedLink {
    const primary = this.#connection.nodes.addressOf(key, cluster) ?? '';
    return this.#link(`${number} ${primary}`, () => {
      const node = cluster.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === primary);
      if (node) return node;
      cluster.refreshSlotsCache();
      throw new BrokerUnavailableError(`Redis at ${this.#connection.address} failed: no primary holds ${key}`);
    });
  }

  /** @param template a client that leads to the same primary */
  #link(name: string, template: () => Redis): ReplicatedLink {
    const known = this.#links.get(name);
    if (known) return known;
    const client = this.#connection.openForReplicas(template());
    const link = new ReplicatedLink(client, this.#clock);
    this.#links.set(name, link);
    // A client of one node does not connect again: the slots may have another primary by then.
    client.once('end', () => this.#links.get(name) === link && this.#links.delete(name));
    return link;
  }
}

/** What a script is sent through, in place of a client. */
export class ReplicatedCall implements ScriptClient {
  readonly #run: (key: string, command: ScriptCommand) => Promise<ConfirmedReply>;
  /** How many replicas have confirmed it. */
  confirmedBy = 0;

  constructor(run: (key: string, command: ScriptCommand) => Promise<ConfirmedReply>) {
    this.#run = run;
  }

  async evalsha(sha: string, keys: number, ...values: Argument[]): Promise<unknown> {
    return this.#send('evalsha', sha, keys, values);
  }

  async eval(source: string, keys: number, ...values: Argument[]): Promise<unknown> {
    return this.#send('eval', source, keys, values);
  }

  async #send(name: ScriptCommand['name'], script: string, keys: number, values: Argument[]): Promise<unknown> {
    const [key] = values;
    const { reply, confirmedBy } = await this.#run(String(key), { name, args: [script, keys, ...values] });
    this.confirmedBy = confirmedBy;
    return reply;
  }
}

/**
 * Warns if publishes will be rejected for want of replicas. A Cluster is not looked at: its primaries differ.
 *
 * @param min how many replicas have to confirm each publish
 */
export async function warnOfFewReplicas(redis: RedisClient, min: number, address: string, log: Log): Promise<void> {
  if (redis.isCluster) return;
  const info = await redis.info('replication').catch(() => '');
  const connected = Number(/^connected_slaves:(\d+)/m.exec(info)?.[1] ?? min);
  if (connected >= min) return;
  log.warn(
    `Redis at ${address} has ${connected} connected replicas, and the option 'replicas' asks for ${min}: until there are ` +
      `more, each publish is rejected when its time to wait for them is over.`,
  );
}
