import { until } from '../waiting.js';
import { TestProcess } from './test-process.js';
import type { ConsumerConfig, Handled, ProducerConfig, Report } from '../../fleet/protocol.js';

type ReportOf<K extends Report['kind']> = Extract<Report, { kind: K }>;

/** A process of the fleet and everything that it has reported. */
export class FleetProcess extends TestProcess {
  readonly reports: Report[] = [];

  constructor(name: string, program: 'consumer' | 'producer', config: ConsumerConfig | ProducerConfig) {
    super(name, `dist-test/fleet/programs/${program}.js`, [JSON.stringify(config)]);
    this.onMessage((report) => this.reports.push(report as Report));
  }

  get handled(): Handled[] {
    return this.all('handled').flatMap(({ handled }) => handled);
  }

  /** The partitions that it owns now, according to its reports. */
  get owned(): number[] {
    const owned = new Set<number>();
    for (const { partition, owned: isOwned } of this.all('ownership')) {
      if (isOwned) owned.add(partition);
      else owned.delete(partition);
    }
    return [...owned].toSorted((a, b) => a - b);
  }

  all<K extends Report['kind']>(kind: K): ReportOf<K>[] {
    return this.reports.filter((report): report is ReportOf<K> => report.kind === kind);
  }

  async reported(kind: Report['kind']): Promise<void> {
    await until(`${this.name} to report '${kind}'\n${this.output}`, () => this.all(kind).length > 0, 120_000);
  }
}

/** Starts processes, and ends those that are left. */
export class Fleet {
  readonly #processes: FleetProcess[] = [];

  start(name: string, program: 'consumer', config: ConsumerConfig): FleetProcess;
  start(name: string, program: 'producer', config: ProducerConfig): FleetProcess;
  start(name: string, program: 'consumer' | 'producer', config: ConsumerConfig | ProducerConfig): FleetProcess {
    const process = new FleetProcess(name, program, config);
    this.#processes.push(process);
    return process;
  }

  get handled(): Handled[] {
    return this.#processes.flatMap(({ handled }) => handled);
  }

  /** Overlaps of two processes' ownership of one partition, as text; none should be. */
  ownershipOverlaps(): string[] {
    const intervals = this.#processes.flatMap((process) => ownershipIntervals(process));
    const overlaps: string[] = [];
    for (const [i, a] of intervals.entries()) {
      for (const b of intervals.slice(i + 1)) {
        if (a.owner !== b.owner && a.partition === b.partition && a.from < b.to && b.from < a.to) {
          overlaps.push(`partition ${a.partition}: ${a.owner} ${a.from}–${a.to}, ${b.owner} ${b.from}–${b.to}`);
        }
      }
    }
    return overlaps;
  }

  async end(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill()));
  }
}

interface Interval {
  readonly owner: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

function ownershipIntervals(process: FleetProcess): Interval[] {
  const since = new Map<number, number>();
  const intervals: Interval[] = [];
  for (const { partition, owned, at } of process.all('ownership')) {
    const from = since.get(partition);
    if (owned) since.set(partition, at);
    else if (from !== undefined) {
      intervals.push({ owner: process.name, partition, from, to: at });
      since.delete(partition);
    }
  }
  for (const [partition, from] of since) intervals.push({ owner: process.name, partition, from, to: Infinity });
  return intervals;
}

/** How many times each id was handled, for ids that were not handled exactly once. */
export function notHandledOnce(
  handled: readonly Pick<Handled, 'id'>[],
  ids: readonly string[],
): Record<string, number> {
  const counts = new Map(ids.map((id) => [id, 0]));
  for (const { id } of handled) counts.set(id, (counts.get(id) ?? 0) + 1);
  return Object.fromEntries([...counts].filter(([, count]) => count !== 1));
}
