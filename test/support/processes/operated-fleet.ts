import { Redis } from 'ioredis';
import { type ConnectedDelayQueueAdmin, createDelayQueueAdmin } from 'nestjs-delay-queue';
import { until } from '../waiting.js';
import { type PrivateRedis, startRedis } from '../servers/redis-server.js';
import { TestProcess } from './test-process.js';
import type {
  Bustle,
  Load,
  OperatedConfig,
  OperatedReport,
  Request,
  Run,
  SeenEvent,
} from '../../fleet/operated-protocol.js';

const PREFIX = 'operated';

/** The longest time that a process may take for a request, in milliseconds. */
const PATIENCE = 120_000;

/** A process that is operated from outside, and everything that it has reported. */
export class OperatedProcess extends TestProcess {
  readonly runs: Run[] = [];
  readonly aborts: { readonly id: string; readonly code: string }[] = [];
  /** Ids of the dead letters with which its hook was called. */
  readonly deaths: string[] = [];
  readonly events: SeenEvent[] = [];
  readonly logged: { readonly line: string; readonly at: number }[] = [];
  readonly #done = new Set<number>();
  readonly #failed = new Map<number, string>();
  #requests = 0;
  #isReady = false;

  constructor(name: string, config: OperatedConfig) {
    super(name, 'dist-test/fleet/programs/operated-consumer.js', [JSON.stringify(config)]);
    this.onMessage((message) => this.#take(message as OperatedReport));
  }

  async ready(): Promise<void> {
    await this.#until('boot', () => this.#isReady);
  }

  /** Resolves once the process has done it; rejects if it could not. */
  async ask(request: Request): Promise<void> {
    const number = ++this.#requests;
    this.send({ ...request, number });
    await this.#until(request.kind, () => this.#done.has(number) || this.#failed.has(number));
    const error = this.#failed.get(number);
    if (error !== undefined) throw new Error(`${this.name} could not ${request.kind}: ${error}`);
  }

  /** When it first wrote this line since then, if it did; epoch milliseconds. */
  sawAt(line: string, since: number): number | undefined {
    return this.logged.find((entry) => entry.at >= since && entry.line === line)?.at;
  }

  async #until(what: string, condition: () => boolean): Promise<void> {
    await until(`${this.name} to ${what}\n${this.output}`, condition, PATIENCE);
  }

  #take(report: OperatedReport): void {
    if (report.kind === 'ready') this.#isReady = true;
    else if (report.kind === 'done') this.#done.add(report.number);
    else if (report.kind === 'failed') this.#failed.set(report.number, report.error);
    else if (report.kind === 'logged') this.logged.push(report);
    else if (report.kind === 'runs') this.runs.push(...report.items);
    else if (report.kind === 'aborts') this.aborts.push(...report.items);
    else if (report.kind === 'deaths') this.deaths.push(...report.items);
    else this.events.push(...report.items);
  }
}

/** Two processes with the same topics on their own Redis, and an admin that operates them from outside. */
export class OperatedFleet {
  readonly server: PrivateRedis;
  readonly redis: Redis;
  readonly admin: ConnectedDelayQueueAdmin;
  readonly #config: OperatedConfig;
  readonly #connected: ConnectedDelayQueueAdmin[] = [];
  #processes: OperatedProcess[] = [];

  private constructor(server: PrivateRedis, admin: ConnectedDelayQueueAdmin, config: OperatedConfig) {
    this.server = server;
    this.redis = new Redis(server.url);
    this.admin = admin;
    this.#connected.push(admin);
    this.#config = config;
  }

  static async start(options: Omit<OperatedConfig, 'redisUrl' | 'prefix'>): Promise<OperatedFleet> {
    const server = await startRedis();
    const admin = await createDelayQueueAdmin({ redis: server.url, prefix: PREFIX, timeout: '30s' });
    const fleet = new OperatedFleet(server, admin, { redisUrl: server.url, prefix: PREFIX, ...options });
    try {
      await fleet.startTwo();
      return fleet;
    } catch (error) {
      await fleet.end();
      throw error;
    }
  }

  get processes(): readonly OperatedProcess[] {
    return this.#processes;
  }

  get runs(): Run[] {
    return this.#processes.flatMap(({ runs }) => runs);
  }

  /** Starts two processes, which share the partitions evenly once this resolves. */
  async startTwo(differences: Partial<OperatedConfig> = {}): Promise<void> {
    const config = { ...this.#config, ...differences };
    this.#processes = ['a', 'b'].map((name) => new OperatedProcess(name, config));
    await this.each((process) => process.ready());
    await until(
      'an even share',
      async () => {
        const owners = await Promise.all([this.owners('work'), this.owners('held')]);
        return owners.every((of) => this.#processes.every(({ pid }) => count(of, pid) === config.partitions / 2));
      },
      PATIENCE,
    );
  }

  /** Ends the processes as a deploy does. */
  async endProcesses(): Promise<void> {
    await this.each(async (process) => {
      process.signal('SIGTERM');
      await process.exit();
    });
  }

  async each<T>(what: (process: OperatedProcess, index: number) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#processes.map(what));
  }

  /** Lets each process publish half of the messages, and returns all ids. */
  async publish({ count: all, idPrefix, ...load }: Load): Promise<string[]> {
    const half = all / 2;
    const prefixes = this.#processes.map(({ name }) => `${idPrefix}${name}-`);
    await this.each((process, i) =>
      process.ask({ kind: 'publish', load: { ...load, idPrefix: prefixes[i] ?? '', count: half } }),
    );
    return prefixes.flatMap((prefix) => Array.from({ length: half }, (_, n) => `${prefix}${n}`));
  }

  /** Lets other messages come, fail, move and go in both processes until the work is done. */
  async whileBustling<T>(bustle: Omit<Bustle, 'idPrefix'>, work: () => Promise<T>): Promise<T> {
    const before = this.#processes.map(({ runs }) => runs.length);
    await this.each((process) =>
      process.ask({ kind: 'begin-bustle', bustle: { ...bustle, idPrefix: `bustle-${process.name}-${Date.now()}-` } }),
    );
    try {
      await until('both to handle', () => this.#processes.every(({ runs }, i) => runs.length > (before[i] ?? 0)));
      return await work();
    } finally {
      await this.each((process) => process.ask({ kind: 'end-bustle' }));
    }
  }

  /** The process id of the owner of each partition. */
  async owners(topic: string): Promise<(number | undefined)[]> {
    const { partitions } = await this.admin.stats(topic);
    return partitions.map(({ owner }) => (owner === undefined ? undefined : Number(owner.split(':').at(-2))));
  }

  /** Connects another admin. */
  async anotherAdmin(): Promise<ConnectedDelayQueueAdmin> {
    const admin = await createDelayQueueAdmin({ redis: this.server.url, prefix: PREFIX, timeout: '30s' });
    this.#connected.push(admin);
    return admin;
  }

  async end(): Promise<void> {
    await this.each((process) => process.kill());
    await Promise.all(this.#connected.map((admin) => admin.close()));
    this.redis.disconnect();
    await this.server.stop();
  }
}

function count<T>(values: readonly T[], value: T): number {
  return values.filter((each) => each === value).length;
}
