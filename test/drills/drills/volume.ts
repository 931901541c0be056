import { join } from 'node:path';
import { Program } from '../../fleet/faults/program.js';
import type { Drill } from '../drill.js';
import { OneRedis } from '../servers/one-redis.js';
import { DEFAULTS, PARTITIONS, type Stage } from '../stage.js';
import type { VolumeConfig, VolumePublisherConfig } from '../volume/config.js';
import { findRemarkable } from '../volume/remarkable.js';

const MILLION = 1_000_000;
const CONSUMERS = 3;

/** How long all goes well between two disturbances, in milliseconds. */
const BETWEEN = { least: 3000, most: 6000 };

/** How long a process is stopped; its leases hold. */
const STOPPED = 1500;

export const volume: Drill = {
  name: 'volume',
  shows: 'millions of messages are handled while processes are killed, replaced and stopped, and connections end',
  times: 10,
  async run(stage, times) {
    const redis = await stage.use(OneRedis.start(['--save', '']));
    const fleet = new VolumeFleet(stage, redis.address);
    const startedAt = performance.now();
    try {
      for (let i = 0; i < CONSUMERS; i++) await fleet.startConsumer();
      const publisher = await fleet.startPublisher(times * MILLION);
      while (publisher.running) {
        await stage.pause(BETWEEN.least, BETWEEN.most);
        await fleet.disturb(redis);
      }
      const final = await stage.settled(2 * DEFAULTS.lease);
      const took = (performance.now() - startedAt) / 1000;
      await fleet.stop();
      const { records, confirmed, deliveries } = findRemarkable(fleet.files, times * MILLION);
      stage.judge(records, final);
      stage.expect(confirmed > 0.99 * times * MILLION, 'unconfirmed', `${confirmed} of ${times * MILLION} confirmed`);
      stage.notes.push(
        `${confirmed} confirmed, ${deliveries} deliveries in ${took.toFixed(0)} s, with ${fleet.disturbances} disturbances`,
        `${records.length} records of messages that did not go their way undisturbed were judged one by one`,
      );
    } finally {
      await fleet.kill();
    }
  },
};

/** The processes of the drill. */
class VolumeFleet {
  /** Of the records, by the names of the processes. */
  readonly files = new Map<string, string>();
  disturbances = 0;
  readonly #programs: Program[] = [];

  constructor(
    readonly stage: Stage,
    readonly redis: string,
  ) {}

  async startConsumer(): Promise<void> {
    await this.#start('consumer', `c${this.files.size + 1}`, (common) => common);
  }

  async startPublisher(count: number): Promise<Program> {
    return this.#start('publisher', 'p', (common): VolumePublisherConfig => ({ ...common, count }));
  }

  /** Breaks something. */
  async disturb({ server }: OneRedis): Promise<void> {
    this.disturbances++;
    const victim = this.stage.random.pick(this.#consumers);
    const process = victim.name;
    const kinds = [
      async () => {
        await this.stage.disturb('killed', async () => victim.kill(), { process, fatal: true });
        await this.startConsumer();
      },
      async () => {
        await this.startConsumer();
        victim.signal('SIGTERM');
        await victim.exit();
      },
      async () =>
        this.stage.disturb(
          'stopped',
          async () => {
            victim.signal('SIGSTOP');
            await this.stage.pause(STOPPED);
            victim.signal('SIGCONT');
          },
          { process },
        ),
      async () =>
        this.stage.disturb('connections ended', async () => {
          await server.ask(async (client) => client.call('CLIENT', 'KILL', 'SKIPME', 'yes'));
        }),
      async () =>
        this.stage.disturb('scripts forgotten', async () => {
          await server.ask(async (client) => client.script('FLUSH'));
        }),
    ];
    await this.stage.random.pick(kinds)();
  }

  /** Ends the processes in good order. */
  async stop(): Promise<void> {
    for (const program of this.#programs) program.signal('SIGTERM');
    await Promise.all(this.#programs.map(async (program) => program.exit()));
  }

  async kill(): Promise<void> {
    await Promise.all(this.#programs.map(async (program) => program.kill()));
  }

  get #consumers(): Program[] {
    return this.#programs.filter(({ name, running }) => running && name.startsWith('c'));
  }

  async #start(
    kind: 'consumer' | 'publisher',
    name: string,
    configure: (common: VolumeConfig) => VolumeConfig,
  ): Promise<Program> {
    const historyFile = join(this.stage.folder, `${name}.records`);
    const program = new Program(
      `drills/volume/${kind}`,
      configure({ name, redis: this.redis, partitions: PARTITIONS, historyFile }),
    );
    this.files.set(name, historyFile);
    this.#programs.push(program);
    await program.ready();
    return program;
  }
}
