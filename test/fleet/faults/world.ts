import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { until } from '../../support/waiting.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { replicasCaughtUp, swapRoles } from '../../support/servers/replication.js';
import { readHistory } from './history/recorder.js';
import type { FaultRecord, FinalState, History } from './history/records.js';
import { type ConsumerConfig, PREFIX, type ProgramConfig, type PublisherConfig, TOPIC } from './programs/config.js';
import { FaultProxy } from '../../support/servers/fault-proxy.js';
import { Program } from './program.js';
import type { SeededRandom } from '../../support/random.js';

/** Milliseconds. The heartbeat is `maxIdleWait`, and a session two of them. */
export const TIMING = { lease: 1000, maxIdleWait: 200, session: 400, publishTimeout: 3000 } as const;

const PARTITIONS = 4;
const ATTEMPTS = 8;

/** How long it may take until nothing is left to do once the faults are over, in milliseconds. */
const QUIET_DEADLINE = 30_000;

/** A Redis with an append-only file, processes connected to it through proxies, and the faults so far. */
export class World {
  readonly faults: FaultRecord[] = [];
  readonly #programs = new Map<string, { readonly program: Program; readonly proxy: FaultProxy }>();
  /** Messages that a fault has destroyed. */
  readonly #excused = new Set<string>();
  #started = 0;
  #leftovers = '';

  #primary: Server;
  #replica: Server | undefined;

  private constructor(
    readonly random: SeededRandom,
    primary: Server,
    readonly folder: string,
  ) {
    this.#primary = primary;
  }

  /** The primary. */
  get redis(): PrivateRedis {
    return this.#primary.redis;
  }

  /** A client that bypasses the proxies. */
  get client(): Redis {
    return this.#primary.client;
  }

  static async create(random: SeededRandom): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'delay-queue-faults-'));
    return new World(random, await startServer(), folder);
  }

  async startReplica(): Promise<void> {
    this.#replica = await startServer(['--replicaof', '127.0.0.1', String(this.redis.port)]);
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
    for (const { proxy } of this.#programs.values()) proxy.point(next.redis.port);
  }

  async startConsumer(options: Partial<ConsumerConfig> = {}): Promise<string> {
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
    return this.#start('consumer', (common) => ({ ...common, ...defaults, ...options }));
  }

  async startPublisher(options: Partial<PublisherConfig> = {}): Promise<string> {
    const defaults = { rate: 200, maxDelay: 500, publishTimeout: TIMING.publishTimeout, cancellations: 0.05, twins: 0 };
    return this.#start('publisher', (common) => ({ ...common, ...defaults, ...options }));
  }

  program(name: string): Program {
    return this.#entry(name).program;
  }

  proxy(name: string): FaultProxy {
    return this.#entry(name).proxy;
  }

  /** The names of the running consumers. */
  get consumers(): string[] {
    return [...this.#programs]
      .filter(([name, { program }]) => name.startsWith('c') && program.running)
      .map(([name]) => name);
  }

  /** Lets time pass between two faults. */
  async pause(min: number, max: number): Promise<void> {
    await sleep(this.random.between(min, max));
  }

  /** Causes a fault that lasts as long as `action`, and records it. `process`: which one it hits; `undefined`: all. */
  async fault(name: string, process: string | undefined, action: () => Promise<void>, fatal = false): Promise<void> {
    const at = Date.now();
    await action();
    this.faults.push({ at, until: Date.now(), fault: name, process, fatal });
  }

  /** Leaves messages out of the judgement, since a fault has destroyed what was stored of them. */
  excuse(ids: readonly string[]): void {
    for (const id of ids) this.#excused.add(id);
  }

  /** @throws if a process has ended by itself */
  assertAlive(): void {
    for (const [name, { program }] of this.#programs) {
      if (!program.running) throw new Error(`${name} has ended with ${program.ending}:\n${program.output}`);
    }
  }

  /** Ends the publishing, waits until every message is done, and collects the records. */
  async finish(): Promise<History> {
    const programs = [...this.#programs.values()].map(({ program }) => program);
    const publishers = programs.filter(({ name }) => name.startsWith('p'));
    for (const publisher of publishers) publisher.send('finish');
    await Promise.all(publishers.map((publisher) => publisher.exit()));
    await this.#quiet();
    this.#leftovers = await this.#describeKeys();
    for (const program of programs) program.signal('SIGTERM');
    await Promise.all(programs.map((program) => program.exit()));
    const records = [...this.#programs.keys()].flatMap((name) => readHistory(this.#historyFile(name)));
    return {
      records: records
        .filter((record) => !('id' in record) || this.#isJudged(record.id))
        .toSorted((a, b) => a.at - b.at),
      faults: this.faults,
      final: await this.#finalStates(),
      lease: TIMING.lease,
      session: TIMING.session,
      publishTimeout: TIMING.publishTimeout,
      attempts: ATTEMPTS,
    };
  }

  /** What the processes wrote to standard output and error, and the data in Redis at the deadline. */
  output(): string {
    const outputs = [...this.#programs].map(([name, { program }]) => `── ${name}\n${program.output}`);
    return [...outputs, `── redis\n${this.#leftovers}`].join('\n');
  }

  async close(): Promise<void> {
    for (const { program, proxy } of this.#programs.values()) {
      await program.kill();
      await proxy.close();
    }
    for (const server of [this.#primary, this.#replica]) {
      server?.client.disconnect();
      await server?.redis.stop();
    }
    await rm(this.folder, { recursive: true });
  }

  async #start(
    kind: 'consumer' | 'publisher',
    configure: (common: ProgramConfig) => ConsumerConfig | PublisherConfig,
  ): Promise<string> {
    const name = `${kind[0]}${++this.#started}`;
    const proxy = await FaultProxy.start(this.redis.port);
    const common = { name, redis: proxy.url, historyFile: this.#historyFile(name), partitions: PARTITIONS };
    const program = new Program(`fleet/faults/programs/${kind}`, configure(common));
    this.#programs.set(name, { program, proxy });
    await program.ready();
    return name;
  }

  /** Waits until nothing is scheduled or in flight. */
  async #quiet(): Promise<void> {
    await until(
      'every message to find its end',
      async () => (await this.#idsIn('scheduled')).length + (await this.#idsIn('inflight')).length === 0,
      QUIET_DEADLINE,
    ).catch(() => {});
  }

  async #finalStates(): Promise<Map<string, FinalState>> {
    const states = new Map<string, FinalState>();
    for (const id of await this.#idsIn('scheduled')) states.set(id, 'scheduled');
    for (const id of await this.#idsIn('inflight')) states.set(id, 'in-flight');
    for (const id of await this.#idsIn('dead')) states.set(id, 'dead');
    return states;
  }

  async #idsIn(set: 'scheduled' | 'inflight' | 'dead'): Promise<string[]> {
    const partitions = Array.from({ length: PARTITIONS }, (_, index) => `{${PREFIX}:${TOPIC}:${index}}:${set}`);
    const ids = (await Promise.all(partitions.map((key) => this.client.zrange(key, '0', '-1')))).flat();
    return ids.filter((id) => this.#isJudged(id));
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

  #entry(name: string): { readonly program: Program; readonly proxy: FaultProxy } {
    const entry = this.#programs.get(name);
    if (!entry) throw new Error(`No process ${name}`);
    return entry;
  }

  #historyFile(name: string): string {
    return join(this.folder, `${name}.jsonl`);
  }
}

/** A Redis of this world, with a client that reaches it directly. */
interface Server {
  readonly redis: PrivateRedis;
  readonly client: Redis;
}

async function startServer(args: readonly string[] = []): Promise<Server> {
  const options = ['--appendonly', 'yes', '--appendfsync', 'always', '--repl-diskless-sync-delay', '0'];
  const redis = await startRedis([...options, ...args]);
  const client = new Redis(redis.url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
  client.on('error', () => {});
  return { redis, client };
}
