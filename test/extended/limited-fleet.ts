import { afterEach, beforeEach } from 'vitest';
import type { LimitedRun, TestedLimits } from '../fleet/faults/history/limits.js';
import type { ProcessRecord } from '../fleet/faults/history/records.js';
import type { ConsumerConfig, PublisherConfig } from '../fleet/faults/programs/config.js';
import { World } from '../fleet/faults/world.js';
import { SeededRandom } from '../support/random.js';

export const PROCESSES = 4;
const BACKLOG = 5000;

/** The library's own values. Milliseconds. */
const DEFAULTS = { lease: 30_000, maxIdleWait: 5000 } as const;

type Started = Extract<ProcessRecord, { kind: 'delivery-started' }>;

/** Four processes with the library's own settings, and a backlog of a topic with limits. */
export class LimitedFleet {
  readonly world: World;

  private constructor(world: World) {
    this.world = world;
  }

  static async open(): Promise<LimitedFleet> {
    return new LimitedFleet(await World.create(new SeededRandom(1), []));
  }

  /** The ids of the backlog. */
  static get ids(): string[] {
    return Array.from({ length: BACKLOG }, (_, n) => `p1-${n}`);
  }

  /** Publishes, and starts the processes, with the library's own settings, but for what the test says. */
  async start(
    limits: TestedLimits,
    consumer: Partial<ConsumerConfig> = {},
    producer: Partial<PublisherConfig> = {},
  ): Promise<void> {
    this.world.limits = limits;
    const publisher = await this.world.startProducer({
      rate: BACKLOG,
      count: BACKLOG,
      maxDelay: 0,
      cancellations: 0,
      ...producer,
    });
    await this.world.program(publisher).exit();
    const settings = { ...DEFAULTS, concurrency: 100, handlerTime: 5, failures: 0, ...consumer };
    await Promise.all(Array.from({ length: PROCESSES }, async () => this.world.startConsumer(settings)));
  }

  started(): Started[] {
    return this.world.records().filter((record) => record.kind === 'delivery-started');
  }

  /** The runs so far, with their keys. */
  runs(): LimitedRun[] {
    const records = this.world.records();
    const keys = new Map(
      records.flatMap((record) => (record.kind === 'publish-confirmed' ? [[record.id, record.key ?? record.id]] : [])),
    );
    const ends = new Map(
      records.flatMap((record) =>
        record.kind === 'delivery-finished' ? [[`${record.process} ${record.id} ${record.attempt}`, record.at]] : [],
      ),
    );
    return this.started().map(({ process, id, attempt, at }) => ({
      id,
      key: keys.get(id) ?? id,
      from: at,
      to: ends.get(`${process} ${id} ${attempt}`) ?? Infinity,
    }));
  }
}

/** One for each test of a file. */
export function useLimitedFleet(): () => LimitedFleet {
  let fleet: LimitedFleet;
  beforeEach(async () => {
    fleet = await LimitedFleet.open();
  });
  afterEach(async () => {
    await fleet.world.close();
  });
  return () => fleet;
}
