import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { idsInClaim } from '../../support/claim-record.js';
import { until } from '../../support/waiting.js';
import { DelayedCopies } from '../../support/servers/delayed-copies.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { replicasCaughtUp, swapRoles } from '../../support/servers/replication.js';
import { WITH_SYNCED_FILE } from '../../support/servers/with-file.js';
import type { FinalState, History } from './history/records.js';
import {
  type ConsumerConfig,
  PREFIX,
  type ProgramKind,
  type ProgramOptions,
  type PublisherConfig,
  TOPIC,
} from './programs/config.js';
import { FaultProxy } from '../../support/servers/fault-proxy.js';
import { Scene } from './scene.js';
import type { SeededRandom } from '../../support/random.js';

/** Milliseconds. The heartbeat is `maxIdleWait`, and a session two of them. */
export const TIMING = { lease: 1000, maxIdleWait: 200, session: 400, publishTimeout: 3000 } as const;

const PARTITIONS = 4;
const ATTEMPTS = 8;

/** How long it may take until nothing is left to do once the faults are over, in milliseconds. */
const QUIET_DEADLINE = 30_000;

type StateSet = 'scheduled' | 'blocked' | 'inflight' | 'dead';

/** The sets of a partition, and the states of the messages in them. */
const FINAL_STATES: readonly (readonly [StateSet, FinalState])[] = [
  ['scheduled', 'scheduled'],
  ['blocked', 'scheduled'],
  ['inflight', 'in-flight'],
  ['dead', 'dead'],
];

/** A Redis, processes connected to it through proxies, and the faults so far. */
export class World extends Scene {
  readonly partitions = PARTITIONS;
  readonly #proxies = new Map<string, FaultProxy>();
  /** Set once another program has written into what keeps the order of messages, so that it is not judged. */
  isOrderDamaged = false;
  #copies: DelayedCopies | undefined;
  /** Messages that a fault has destroyed. */
  readonly #excused = new Set<string>();
  #leftovers = '';
  #isClosed = false;

  #primary: Server;
  #replica: Server | undefined;

  private constructor(random: SeededRandom, primary: Server, folder: string) {
    super(random, folder);
    this.#primary = primary;
    void this.#watchStandstills(TIMING.lease / 2);
  }

  /** The primary. */
  get redis(): PrivateRedis {
    return this.#primary.redis;
  }

  /** A client that bypasses the proxies. */
  get client(): Redis {
    return this.#primary.client;
  }

  /** Those who look from outside bypass the proxies, too. */
  override get address(): string {
    return this.redis.url;
  }

  override now(): number {
    return Date.now();
  }

  /** @param args what its Redis is started with */
  static async create(random: SeededRandom, args: readonly string[] = WITH_SYNCED_FILE): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'delay-queue-faults-'));
    return new World(random, await startServer(args), folder);
  }

  async startReplica(): Promise<void> {
    this.#replica = await startServer([...WITH_SYNCED_FILE, '--replicaof', '127.0.0.1', String(this.redis.port)]);
    await replicasCaughtUp(this.redis);
  }

  /**
   * Swaps primary and replica, and after a while leads the proxies to the new primary, like a managed endpoint: existing
   * connections stay open and now end at a replica.
   *
   * @param lag until new connections lead to the new primary, in milliseconds
   */
  async failover(lag: number): Promise<void> {
    const [former, next] = [this.#primary, this.#replica];
    if (!next) throw new Error('There is no replica');
    await swapRoles(former.redis, next.redis);
    await sleep(lag);
    [this.#primary, this.#replica] = [next, former];
    for (const proxy of this.#proxies.values()) proxy.point(next.redis.port);
  }

  override async startConsumer(options: Partial<ConsumerConfig> = {}): Promise<string> {
    const { lease, maxIdleWait } = TIMING;
    const defaults = {
      lease,
      maxIdleWait,
      attempts: ATTEMPTS,
      concurrency: 50,
      handlerTime: 30,
      failures: 0.05,
      fleetEvents: false,
    };
    return this.#start('consumer', { ...defaults, ...options });
  }

  override async startProducer(options: Partial<PublisherConfig> = {}): Promise<string> {
    const defaults = { rate: 200, maxDelay: 500, publishTimeout: TIMING.publishTimeout, cancellations: 0.05, twins: 0 };
    return this.#start('publisher', { ...defaults, ...options });
  }

  proxy(name: string): FaultProxy {
    const proxy = this.#proxies.get(name);
    if (!proxy) throw new Error(`No process ${name}`);
    return proxy;
  }

  /** Causes a fault that lasts as long as `action`, and records it. `process`: which one it hits; `undefined`: all. */
  async fault(name: string, process: string | undefined, action: () => Promise<void>, fatal = false): Promise<void> {
    // Leases are short here, so that any fault may end them.
    await this.disturb(name, action, { process, fatal, endsLeases: true });
  }

  /**
   * Has Redis get copies of what processes have written that start from now on.
   *
   * @param share of their calls that is copied, 0 to 1
   * @param longest how long a copy is on its way at most, in milliseconds
   */
  async copyCalls(share: number, longest: number): Promise<void> {
    this.#copies = await DelayedCopies.start(this.redis.port, () =>
      this.random.next() < share ? this.random.between(0, longest) : undefined,
    );
  }

  /** How many copies Redis has got. */
  get copies(): number {
    return this.#copies?.sent ?? 0;
  }

  /** How many connections of processes end at the replica. */
  async leftAtReplica(): Promise<number> {
    if (!this.#replica) throw new Error('There is no replica');
    const { client } = this.#replica;
    const [own, list] = await Promise.all([client.client('ID'), client.client('LIST')]);
    const others = String(list)
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith(`id=${own} `) && !/ flags=[MS]/.test(line));
    return others.length;
  }

  /** Leaves messages out of the judgement, by their stored ids, since a fault has destroyed what was stored of them. */
  excuse(ids: readonly string[]): void {
    for (const id of ids) this.#excused.add(idOf(id));
  }

  /** @throws if a process has ended by itself */
  assertAlive(): void {
    for (const [name, { running, ending, output }] of this.programs) {
      if (!running) throw new Error(`${name} has ended with ${ending}:\n${output}`);
    }
  }

  /** Ends the publishing, waits until every message is done, and collects the records. */
  async finish(): Promise<History> {
    await this.endProducers();
    await this.#quiet();
    this.#leftovers = await this.#describeKeys();
    await this.endPrograms();
    const records = this.records();
    return {
      records: records.filter((record) => !('id' in record) || this.#isJudged(record.id)),
      faults: this.disturbances(records),
      losses: this.losses,
      final: await this.#finalStates(),
      lease: TIMING.lease,
      session: TIMING.session,
      publishTimeout: TIMING.publishTimeout,
      attempts: ATTEMPTS,
      ordered: this.ordered && !this.isOrderDamaged,
      limits: this.limits,
    };
  }

  /** What the processes wrote to standard output and error, and the data in Redis at the deadline. */
  override output(): string {
    return `${super.output()}\n── redis\n${this.#leftovers}`;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.endAll();
    this.#copies?.close();
    for (const proxy of this.#proxies.values()) await proxy.close();
    for (const server of [this.#primary, this.#replica]) {
      server?.client.disconnect();
      await server?.redis.stop();
    }
    await rm(this.folder, { recursive: true });
  }

  /**
   * Notes when Redis, or the proxies here before it, give no answer: a busy host may leave them without a turn for as long as a lease.
   *
   * @param tolerance how long counts as that, in milliseconds
   */
  async #watchStandstills(tolerance: number): Promise<void> {
    while (!this.#isClosed) {
      const at = this.now();
      await this.client.ping().catch(() => {});
      const answeredAt = this.now();
      const stood = { at, until: answeredAt, fault: 'Redis stood still', process: undefined, fatal: false };
      if (answeredAt - at >= tolerance) this.faults.push(stood);
      await sleep(tolerance / 10);
    }
  }

  async #start(kind: ProgramKind, options: ProgramOptions): Promise<string> {
    return this.start(kind, async (common) => {
      const proxy = await FaultProxy.start(this.redis.port);
      this.#proxies.set(common.name, proxy);
      const copies = this.#copies;
      if (copies) proxy.onRequest((connection, chunk) => copies.take(connection, chunk));
      return { ...common, ...options, redis: proxy.url };
    });
  }

  /** Waits until nothing waits or is in flight. */
  async #quiet(): Promise<void> {
    const isQuiet = async (): Promise<boolean> => {
      const left = await Promise.all((['scheduled', 'blocked', 'inflight'] as const).map((set) => this.#idsIn(set)));
      return left.flat().length === 0;
    };
    await until('every message to find its end', isQuiet, QUIET_DEADLINE).catch(() => {});
  }

  async #finalStates(): Promise<Map<string, FinalState>> {
    const states = new Map<string, FinalState>();
    for (const [set, state] of FINAL_STATES) {
      try {
        for (const id of await this.#idsIn(set)) states.set(id, state);
      } catch (error) {
        // Another program has written over it, and nobody has set that aside.
        this.expect(false, 'unreadable', `${set}: ${(error as Error).message}`);
      }
    }
    return states;
  }

  async #idsIn(set: StateSet): Promise<string[]> {
    const tags = Array.from({ length: PARTITIONS }, (_, index) => `{${PREFIX}:${TOPIC}:${index}}`);
    const ids = await Promise.all(tags.map((tag) => this.client.zrange(`${tag}:${set}`, '0', '-1')));
    const records = set === 'inflight' ? tags.map((tag) => this.client.hvals(`${tag}:claims`)) : [];
    const shared = (await Promise.all(records)).flat().flatMap(idsInClaim);
    return [...ids.flat(), ...shared].map(idOf).filter((id) => this.#isJudged(id));
  }

  /** Whether it is a message of a publisher, such as `p4-17`; other programs may have stored some as well. */
  #isJudged(id: string): boolean {
    return /^p\d+-\d+$/.test(id) && !this.#excused.has(id);
  }

  async #describeKeys(): Promise<string> {
    const lines = [`time ${(await this.client.time()).join('.')}`];
    for (const key of (await this.client.keys('*')).toSorted()) {
      const type = await this.client.type(key);
      if (type === 'zset') lines.push(`${key} ${(await this.client.zrange(key, '0', '9', 'WITHSCORES')).join(' ')}`);
      if (type === 'string') lines.push(`${key} ${await this.client.get(key)} ${await this.client.pttl(key)}`);
      if (type === 'hash') lines.push(`${key} ${JSON.stringify(await this.client.hgetall(key)).slice(0, 500)}`);
    }
    return lines.join('\n');
  }
}

/** A Redis of this world, with a client that reaches it directly. */
interface Server {
  readonly redis: PrivateRedis;
  readonly client: Redis;
}

/** The id in a stored one, which its key may follow. */
function idOf(storedId: string): string {
  return storedId.split('\0', 1)[0] ?? '';
}

async function startServer(args: readonly string[]): Promise<Server> {
  const redis = await startRedis(args);
  const client = new Redis(redis.url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
  client.on('error', () => {});
  return { redis, client };
}
