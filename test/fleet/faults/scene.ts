import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { type ConnectedDelayQueueAdmin, createDelayQueueAdmin, type RedisSettings } from 'nestjs-delay-queue';
import type { SeededRandom } from '../../support/random.js';
import { until } from '../../support/waiting.js';
import type { TestedLimits } from './history/limits.js';
import { readHistory } from './history/recorder.js';
import type { FaultRecord, LossRecord, ProcessRecord } from './history/records.js';
import {
  type ConsumerConfig,
  PREFIX,
  type ProgramConfig,
  type ProgramKind,
  type PublisherConfig,
  TOPIC,
} from './programs/config.js';
import { Program } from './program.js';

/** A promise that was broken. */
export interface Finding {
  readonly rule: string;
  readonly detail: string;
}

/** How an application reaches the servers. */
export type Address = Exclude<RedisSettings, Redis | Cluster>;

export interface Disturbance {
  /** The process that it hits; without it, it hits all. */
  readonly process?: string | undefined;
  readonly fatal?: boolean;
  /** Set if it lasts so long that leases may end. */
  readonly endsLeases?: boolean;
}

/**
 * What a scenario or a drill has to do with: processes of the library, what was done to them, what Redis lost meanwhile, what has
 * to be true, and what was found.
 */
export abstract class Scene {
  readonly findings: Finding[] = [];
  /** Whether the topic is ordered; to be set before anything is started. */
  ordered = false;
  /** Of the topic; to be set before anything is started. */
  limits: TestedLimits = {};
  protected readonly faults: FaultRecord[] = [];
  protected readonly losses: LossRecord[] = [];
  protected readonly programs = new Map<string, Program>();
  #admin: ConnectedDelayQueueAdmin | undefined;
  #started = 0;

  /** How many partitions the topic has. */
  abstract readonly partitions: number;

  protected constructor(
    readonly random: SeededRandom,
    readonly folder: string,
  ) {}

  /** How those who look from outside reach the servers. */
  abstract get address(): Address;

  /** Milliseconds on the clock of the records. */
  abstract now(): number;

  /** @returns its name */
  abstract startConsumer(options?: Partial<ConsumerConfig>): Promise<string>;

  /** @returns its name */
  abstract startProducer(options?: Partial<PublisherConfig>): Promise<string>;

  program(name: string): Program {
    const program = this.programs.get(name);
    if (!program) throw new Error(`No process ${name}`);
    return program;
  }

  /** The names of the running consumers. */
  get consumers(): string[] {
    return this.#running('c');
  }

  /** The names of the running producers. */
  get producers(): string[] {
    return this.#running('p');
  }

  /** What a process has recorded so far. */
  recordsOf(name: string): ProcessRecord[] {
    return readHistory(this.#historyFile(name));
  }

  /** What all processes have recorded so far. */
  records(): ProcessRecord[] {
    return [...this.programs.keys()].flatMap((name) => this.recordsOf(name)).toSorted((a, b) => a.at - b.at);
  }

  /** How many records of a kind a process has written so far. */
  recorded(name: string, kind: ProcessRecord['kind']): number {
    return this.recordsOf(name).filter((record) => record.kind === kind).length;
  }

  /** Looks at the topic from outside. */
  async admin(): Promise<ConnectedDelayQueueAdmin> {
    const log = { log: () => {}, warn: () => {}, error: () => {} };
    this.#admin ??= await createDelayQueueAdmin({ redis: this.address, prefix: PREFIX, log });
    return this.#admin;
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
    this.faults.push({ at, until: this.now(), fault: what, process, fatal, keepsLeases: !endsLeases });
  }

  /** Says that Redis lost what it had changed between two moments. */
  redisLost(from: number, to: number): void {
    this.losses.push({ from, until: to });
  }

  /** Says what has to be true. */
  expect(holds: boolean, rule: string, detail: string): void {
    if (!holds) this.findings.push({ rule, detail });
  }

  /**
   * Waits for a condition; a finding if it does not come true in time. A call that fails is repeated.
   *
   * @returns whether it has come true
   */
  async expectSoon(rule: string, what: string, within: number, condition: () => Promise<boolean>): Promise<boolean> {
    try {
      await until(what, async () => condition().catch(() => false), within);
      return true;
    } catch (error) {
      this.findings.push({ rule, detail: (error as Error).message });
      return false;
    }
  }

  /** Waits until every partition has an owner; a finding if that takes longer. */
  async allOwned(within: number): Promise<void> {
    await this.expectSoon('unowned', 'every partition to have an owner', within, async () => {
      const { partitions } = await (await this.admin()).stats(TOPIC);
      return partitions.length === this.partitions && partitions.every(({ owner }) => owner !== undefined);
    });
  }

  /** What was done to the processes, and what a busy host did: it may leave one without a turn for as long as its lease. */
  protected disturbances(records: readonly ProcessRecord[]): FaultRecord[] {
    const standstills = records.flatMap((record): FaultRecord[] => {
      if (record.kind !== 'stood-still') return [];
      const { from, at, process } = record;
      return [{ at: from, until: at, fault: 'stood still', process, fatal: false }];
    });
    return [...this.faults, ...standstills];
  }

  /** What the processes wrote to standard output and error. */
  output(): string {
    return [...this.programs].map(([name, { output }]) => `── ${name}\n${output}`).join('\n');
  }

  /** Ends the load: what is under way is published to its end. */
  async endProducers(): Promise<void> {
    const producers = this.producers.map((name) => this.program(name));
    for (const producer of producers) producer.send('finish');
    await Promise.all(producers.map(async (producer) => producer.exit()));
  }

  /** Ends all processes gracefully. */
  protected async endPrograms(): Promise<void> {
    const programs = [...this.programs.values()];
    for (const program of programs) program.signal('SIGTERM');
    await Promise.all(programs.map(async (program) => program.exit()));
  }

  /** Ends the processes that still run, and the look from outside. */
  protected async endAll(): Promise<void> {
    await Promise.all([...this.programs.values()].map(async (program) => program.kill()));
    await this.#admin?.close();
  }

  /** @param configure what it is started with, beside what all are */
  protected async start(
    kind: ProgramKind,
    configure: (
      common: Pick<ProgramConfig, 'name' | 'historyFile' | 'partitions' | 'ordered' | keyof TestedLimits>,
    ) => Promise<ProgramConfig>,
    env?: NodeJS.ProcessEnv,
  ): Promise<string> {
    const name = `${kind === 'consumer' ? 'c' : 'p'}${++this.#started}`;
    const { partitions, ordered, limits } = this;
    const common = { name, historyFile: this.#historyFile(name), partitions, ordered, ...limits };
    const program = new Program(`fleet/faults/programs/${kind}`, await configure(common), env);
    this.programs.set(name, program);
    await program.ready();
    return name;
  }

  #running(initial: string): string[] {
    return [...this.programs]
      .filter(([name, { running }]) => name.startsWith(initial) && running)
      .map(([name]) => name);
  }

  #historyFile(name: string): string {
    return join(this.folder, `${name}.jsonl`);
  }
}
