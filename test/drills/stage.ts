import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PeekState } from 'nestjs-delay-queue/admin';
import { check } from '../fleet/faults/history/checker.js';
import { monotonic } from '../fleet/faults/history/recorder.js';
import type { ClockStep, FinalState, History, ProcessRecord } from '../fleet/faults/history/records.js';
import {
  type ConsumerConfig,
  type ProgramKind,
  type ProgramOptions,
  type PublisherConfig,
  TOPIC,
} from '../fleet/faults/programs/config.js';
import { Scene } from '../fleet/faults/scene.js';
import { folderOfRun } from '../support/processes/left-processes.js';
import { listAll } from '../support/processes/list-all.js';
import type { SeededRandom } from '../support/random.js';
import { until } from '../support/waiting.js';
import { type Bounds, SETTLED_WITHIN, beyond } from './bounds.js';
import { type Figures, figuresOf } from './figures.js';
import type { Servers } from './servers/servers.js';

/** The library's own values, which processes of drills have unless a drill says otherwise. Milliseconds. */
export const DEFAULTS = { lease: 30_000, heartbeat: 5000, session: 10_000, publishTimeout: 5000, attempts: 5 } as const;

export const PARTITIONS = 12;

/** The processes of a drill, unless it says otherwise. */
const CONSUMERS = 4;
const PRODUCERS = 2;

/** Messages per second in all. */
export const RATE = 500;
const MAX_DELAY = 500;
const HANDLER_TIME = 30;

/** How often the records of running processes are read, in milliseconds. */
const BETWEEN_LOOKS = 250;

/** How long the clocks are compared, in milliseconds: for several changes of the whole millisecond. */
const CLOCK_READING = 20;

/** Where a drill is played: its servers, its processes, what was done to them, and what was found. */
export class Stage extends Scene {
  readonly partitions = PARTITIONS;
  /** What the drill measured, in words. */
  readonly notes: string[] = [];
  figures: Figures | undefined;
  readonly #servers: Servers[] = [];
  readonly #clockSteps: ClockStep[] = [];
  readonly #clockBase = clockBase();
  #lease: number = DEFAULTS.lease;
  #attempts: number = DEFAULTS.attempts;

  static async create(random: SeededRandom): Promise<Stage> {
    return new Stage(random, await mkdtemp(join(folderOfRun(), 'delay-queue-drill-')));
  }

  /** Takes servers over: processes that start from now on use them, and they are stopped at the end. */
  async use<S extends Servers>(starting: Promise<S>): Promise<S> {
    const servers = await starting;
    this.#servers.push(servers);
    return servers;
  }

  override now(): number {
    return this.#clockBase + monotonic();
  }

  /** Starts consumers and producers, all at once, and waits until every partition has an owner. */
  async startFleet(
    options: { consumers?: number; rate?: number; maxDelay?: number; consumer?: Partial<ConsumerConfig> } = {},
  ): Promise<void> {
    const { consumers = CONSUMERS, rate = RATE, maxDelay = MAX_DELAY, consumer = {} } = options;
    await Promise.all([
      ...Array.from({ length: consumers }, async () => this.startConsumer(consumer)),
      ...Array.from({ length: PRODUCERS }, async () => this.startProducer({ rate: rate / PRODUCERS, maxDelay })),
    ]);
    await this.allOwned(DEFAULTS.session * 2);
  }

  override async startConsumer(options: Partial<ConsumerConfig> = {}, env: NodeJS.ProcessEnv = {}): Promise<string> {
    if (options.lease !== undefined) this.#lease = options.lease;
    if (options.attempts !== undefined) this.#attempts = options.attempts;
    return this.#start('consumer', { handlerTime: HANDLER_TIME, failures: 0, ...options }, env);
  }

  override async startProducer(options: Partial<PublisherConfig> = {}, env: NodeJS.ProcessEnv = {}): Promise<string> {
    const defaults = { rate: RATE, maxDelay: MAX_DELAY, cancellations: 0, twins: 0 };
    return this.#start('publisher', { ...defaults, ...options }, env);
  }

  /** Says that the servers' clock is about to be set, `offset` milliseconds ahead of the machine's. */
  clockSet(offset: number): void {
    this.#clockSteps.push({ at: this.now(), offset });
  }

  /** Waits until every consumer reports that signals come through; a finding if that takes longer. It has to watch its health. */
  async allListening(within: number): Promise<void> {
    const since = this.now();
    await this.expectSoon('deaf', 'every process to get signals', within, async () => {
      await sleep(BETWEEN_LOOKS);
      return this.consumers.every((name) =>
        this.recordsOf(name).some((record) => isListening(record) && record.at > since),
      );
    });
  }

  /** Ends the load, waits until all is handled, ends the processes, and judges what they recorded. */
  async finish(bounds: Bounds = {}): Promise<History> {
    await this.endProducers();
    const final = await this.settled(bounds.settledWithin ?? SETTLED_WITHIN);
    await this.endPrograms();
    const history = this.judge(this.records(), final);
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
      faults: this.disturbances(records),
      losses: this.losses,
      clockSteps: this.#clockSteps,
      final,
      ...DEFAULTS,
      lease: this.#lease,
      attempts: this.#attempts,
      ordered: this.ordered,
    };
    this.findings.push(...check(history));
    return history;
  }

  /** Ends everything that was started. */
  async close(): Promise<void> {
    await this.endAll();
    await Promise.all(this.#servers.map(async (servers) => servers.stop()));
    await rm(this.folder, { recursive: true });
  }

  override get address(): Servers['address'] {
    const servers = this.#servers.at(-1);
    if (!servers) throw new Error('The drill has started no servers');
    return servers.address;
  }

  async #start(kind: ProgramKind, options: ProgramOptions, env: NodeJS.ProcessEnv): Promise<string> {
    const shared = { redis: this.address, clockBase: this.#clockBase };
    return this.start(kind, async (common) => ({ ...common, ...shared, ...options }), env);
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
