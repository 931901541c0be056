import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDelayQueueAdmin, type ConnectedDelayQueueAdmin, type PeekState } from 'nestjs-delay-queue';
import { check } from '../fleet/faults/history/checker.js';
import { monotonic, readHistory } from '../fleet/faults/history/recorder.js';
import type {
  ClockStep,
  FaultRecord,
  FinalState,
  History,
  LossRecord,
  ProcessRecord,
} from '../fleet/faults/history/records.js';
import {
  type ConsumerConfig,
  PREFIX,
  type ProgramConfig,
  type PublisherConfig,
  TOPIC,
} from '../fleet/faults/programs/config.js';
import { Program } from '../fleet/faults/program.js';
import { folderOfRun } from '../support/processes/left-processes.js';
import { listAll } from '../support/processes/list-all.js';
import type { SeededRandom } from '../support/random.js';
import { until } from '../support/waiting.js';
import { type Bounds, type Finding, SETTLED_WITHIN, beyond } from './bounds.js';
import { type Figures, figuresOf } from './figures.js';
import type { Servers } from './servers/servers.js';

/** The library's own values, which processes of drills have unless a drill says otherwise. Milliseconds. */
export const DEFAULTS = { lease: 30_000, heartbeat: 5000, session: 10_000, publishTimeout: 5000, attempts: 5 } as const;

export const PARTITIONS = 12;

/** The processes of a drill, unless it says otherwise. */
const CONSUMERS = 4;
const PRODUCERS = 2;

/** Messages per second in all. */
const RATE = 500;
const MAX_DELAY = 500;
const HANDLER_TIME = 30;

/** How often the records of running processes are read, in milliseconds. */
const BETWEEN_LOOKS = 250;

/** How long the clocks are compared, in milliseconds: for several changes of the whole millisecond. */
const CLOCK_READING = 20;

export interface Disturbance {
  /** The process that it hits; without it, it hits all. */
  readonly process?: string;
  readonly fatal?: boolean;
  /** Set if it lasts so long that leases may end. */
  readonly endsLeases?: boolean;
}

/** Where a drill is played: its servers, its processes, what was done to them, and what was found. */
export class Stage {
  readonly findings: Finding[] = [];
  /** What the drill measured, in words. */
  readonly notes: string[] = [];
  figures: Figures | undefined;
  readonly #servers: Servers[] = [];
  readonly #programs = new Map<string, Program>();
  readonly #faults: FaultRecord[] = [];
  readonly #losses: LossRecord[] = [];
  readonly #clockSteps: ClockStep[] = [];
  readonly #clockBase = clockBase();
  #lease: number = DEFAULTS.lease;
  #admin: ConnectedDelayQueueAdmin | undefined;
  #started = 0;

  private constructor(
    readonly random: SeededRandom,
    readonly folder: string,
  ) {}

  static async create(random: SeededRandom): Promise<Stage> {
    return new Stage(random, await mkdtemp(join(folderOfRun(), 'delay-queue-drill-')));
  }

  /** Takes servers over: processes that start from now on use them, and they are stopped at the end. */
  async use<S extends Servers>(starting: Promise<S>): Promise<S> {
    const servers = await starting;
    this.#servers.push(servers);
    return servers;
  }

  /** Milliseconds on the clock of the records. */
  now(): number {
    return this.#clockBase + monotonic();
  }

  /** Looks at the topic from outside. */
  async admin(): Promise<ConnectedDelayQueueAdmin> {
    const log = { log: () => {}, warn: () => {}, error: () => {} };
    this.#admin ??= await createDelayQueueAdmin({ redis: this.address, prefix: PREFIX, log });
    return this.#admin;
  }

  /** Starts consumers and producers, all at once, and waits until every partition has an owner. */
  async startFleet(
    options: { consumers?: number; rate?: number; consumer?: Partial<ConsumerConfig> } = {},
  ): Promise<void> {
    const { consumers = CONSUMERS, rate = RATE, consumer = {} } = options;
    await Promise.all([
      ...Array.from({ length: consumers }, async () => this.startConsumer(consumer)),
      ...Array.from({ length: PRODUCERS }, async () => this.startProducer({ rate: rate / PRODUCERS })),
    ]);
    await this.allOwned(DEFAULTS.session * 2);
  }

  /** @returns its name */
  async startConsumer(options: Partial<ConsumerConfig> = {}, env: NodeJS.ProcessEnv = {}): Promise<string> {
    if (options.lease !== undefined) this.#lease = options.lease;
    const defaults = { handlerTime: HANDLER_TIME, failures: 0 };
    return this.#start('consumer', (common) => ({ ...common, ...defaults, ...options }), env);
  }

  /** @returns its name */
  async startProducer(options: Partial<PublisherConfig> = {}, env: NodeJS.ProcessEnv = {}): Promise<string> {
    const defaults = { rate: RATE, maxDelay: MAX_DELAY, cancellations: 0, twins: 0 };
    return this.#start('publisher', (common) => ({ ...common, ...defaults, ...options }), env);
  }

  program(name: string): Program {
    const program = this.#programs.get(name);
    if (!program) throw new Error(`No process ${name}`);
    return program;
  }

  /** How many records of a kind a process has written so far. */
  recorded(name: string, kind: ProcessRecord['kind']): number {
    return readHistory(this.#historyFile(name)).filter((record) => record.kind === kind).length;
  }

  /** The names of the running consumers. */
  get consumers(): string[] {
    return [...this.#programs].filter(([name, { running }]) => name.startsWith('c') && running).map(([name]) => name);
  }

  /** Lets time pass between two disturbances. */
  async pause(min: number, max = min): Promise<void> {
    await sleep(this.random.between(min, max));
  }

  /** Disturbs something, for as long as `action` takes, and records it. */
  async disturb(what: string, action: () => Promise<void>, options: Disturbance = {}): Promise<void> {
    const { process, fatal = false, endsLeases = false } = options;
    const at = this.now();
    await action();
    this.#faults.push({ at, until: this.now(), fault: what, process, fatal, keepsLeases: !endsLeases });
  }

  /** Says that Redis lost what it had changed between two moments. */
  redisLost(from: number, to: number): void {
    this.#losses.push({ from, until: to });
  }

  /** Says that the servers' clock is ahead of the machine's by `offset` from now on. */
  clockSet(offset: number): void {
    this.#clockSteps.push({ at: this.now(), offset });
  }

  /** Says what has to be true. */
  expect(holds: boolean, rule: string, detail: string): void {
    if (!holds) this.findings.push({ rule, detail });
  }

  /** Waits until every partition has an owner; a finding if that takes longer. */
  async allOwned(within: number): Promise<void> {
    await this.expectSoon('unowned', 'every partition to have an owner', within, async () => {
      const { partitions } = await (await this.admin()).stats(TOPIC);
      return partitions.length === PARTITIONS && partitions.every(({ owner }) => owner !== undefined);
    });
  }

  /** Waits until every consumer reports that signals come through; a finding if that takes longer. It has to watch its health. */
  async allListening(within: number): Promise<void> {
    const since = this.now();
    await this.expectSoon('deaf', 'every process to get signals', within, async () => {
      await sleep(BETWEEN_LOOKS);
      return this.consumers.every((name) =>
        readHistory(this.#historyFile(name)).some((record) => isListening(record) && record.at > since),
      );
    });
  }

  /** Waits for a condition; a finding if it does not come true in time. A call that fails is repeated. */
  async expectSoon(rule: string, what: string, within: number, condition: () => Promise<boolean>): Promise<void> {
    await until(what, async () => condition().catch(() => false), within).catch((error: Error) =>
      this.findings.push({ rule, detail: error.message }),
    );
  }

  /** Ends the load, waits until all is handled, ends the processes, and judges what they recorded. */
  async finish(bounds: Bounds = {}): Promise<History> {
    const programs = [...this.#programs.values()];
    const producers = programs.filter(({ name }) => name.startsWith('p'));
    for (const producer of producers) producer.send('finish');
    await Promise.all(producers.map(async (producer) => producer.exit()));
    const final = await this.settled(bounds.settledWithin ?? SETTLED_WITHIN);
    for (const program of programs) program.signal('SIGTERM');
    await Promise.all(programs.map(async (program) => program.exit()));
    const records = [...this.#programs.keys()].flatMap((name) => readHistory(this.#historyFile(name)));
    const history = this.judge(records, final);
    this.figures = figuresOf(history);
    this.findings.push(...beyond(bounds, this.figures));
    return history;
  }

  /** Waits until nothing is scheduled or in flight, and answers what is all the same, for the checker. */
  async settled(within: number): Promise<Map<string, FinalState>> {
    const admin = await this.admin();
    const isQuiet = async (): Promise<boolean> => {
      const { scheduled, inFlight } = await admin.stats(TOPIC);
      return scheduled + inFlight === 0;
    };
    await until('all to be handled', async () => isQuiet().catch(() => false), within).catch(() => {});
    const states = new Map<string, FinalState>();
    for (const state of ['scheduled', 'in-flight', 'dead'] satisfies PeekState[]) {
      const listed = await listAll(admin, { topic: TOPIC, state, ask: async (peek) => peek() });
      for (const { id } of listed) states.set(id, state);
    }
    return states;
  }

  /** Judges what the processes have recorded. */
  judge(records: readonly ProcessRecord[], final: ReadonlyMap<string, FinalState>): History {
    const history: History = {
      records: records.toSorted((a, b) => a.at - b.at),
      faults: this.#faults,
      losses: this.#losses,
      clockSteps: this.#clockSteps,
      final,
      ...DEFAULTS,
      lease: this.#lease,
    };
    this.findings.push(...check(history));
    return history;
  }

  /** What the processes wrote to standard output and error. */
  output(): string {
    return [...this.#programs].map(([name, { output }]) => `── ${name}\n${output}`).join('\n');
  }

  /** Ends everything that was started. */
  async close(): Promise<void> {
    await Promise.all([...this.#programs.values()].map(async (program) => program.kill()));
    await this.#admin?.close();
    await Promise.all(this.#servers.map(async (servers) => servers.stop()));
    await rm(this.folder, { recursive: true });
  }

  get address(): Servers['address'] {
    const servers = this.#servers.at(-1);
    if (!servers) throw new Error('The drill has started no servers');
    return servers.address;
  }

  async #start(
    kind: 'consumer' | 'publisher',
    configure: (common: ProgramConfig) => ConsumerConfig | PublisherConfig,
    env: NodeJS.ProcessEnv,
  ): Promise<string> {
    const name = `${kind[0]}${++this.#started}`;
    const common = {
      name,
      redis: this.address,
      historyFile: this.#historyFile(name),
      partitions: PARTITIONS,
      clockBase: this.#clockBase,
    };
    const program = new Program(`fleet/faults/programs/${kind}`, configure(common), env);
    this.#programs.set(name, program);
    await program.ready();
    return name;
  }

  #historyFile(name: string): string {
    return join(this.folder, `${name}.jsonl`);
  }
}

function isListening(record: ProcessRecord): boolean {
  return record.kind === 'health' && record.signals === 'up';
}

/**
 * What to add to the monotonic clock for the time of day. The time of day is read in whole milliseconds and before the other,
 * so every reading is too little, and the greatest is the best.
 */
function clockBase(): number {
  let base = -Infinity;
  for (const begin = monotonic(); monotonic() < begin + CLOCK_READING;) base = Math.max(base, Date.now() - monotonic());
  return base;
}
