import { OURS, grouped } from '../figures/figure.js';
import type { Report } from './report.js';
import { rowsOf } from './summary.js';
import type { Table } from './tables.js';

/** Up to this share of a core, calls do not yet wait for each other for long. */
const USABLE_SHARE = 0.7;

const MICROSECONDS = 1_000_000;
const MILLION = 1_000_000;
const MIB = 1024 ** 2;

/** Ways in which topics are used, with the figures that say what a message costs there. */
const USES = [
  { use: 'hundreds of messages a second in each topic, published one by one', publish: 'publish', handle: 'calm' },
  { use: 'thousands of messages a second in each topic, published one by one', publish: 'publish', handle: 'busy' },
  { use: 'bursts, published and handled in bulk', publish: 'publish-many', handle: 'backlog' },
] as const;

/** Computes what one Redis, and one process, can carry on a core like the measured one; what was not measured is left out. */
export function sizingTable(report: Report): Table {
  const cost = (name: string, key: string): number | undefined => {
    const figure = report.figures.find((candidate) => candidate.name === name);
    return (
      figure &&
      rowsOf(figure)
        .find(({ subject }) => subject === OURS)
        ?.cells.get(key)?.median
    );
  };
  const bytes = cost('memory', 'bytes');
  return {
    head: ['', 'CPU of Redis', 'one Redis carries', 'CPU of the process', 'one process handles'],
    rows: [
      ...USES.flatMap(({ use, publish, handle }) => {
        const [published, handled, process] = [cost(publish, 'redis'), cost(handle, 'redis'), cost(handle, 'process')];
        if (published === undefined || handled === undefined) return [];
        const redis = published + handled;
        return [[use, micros(redis), perSecond(redis), micros(process), perSecond(process)]];
      }),
      ...(bytes === undefined
        ? []
        : [['a million messages that wait', '', `${grouped((bytes * MILLION) / MIB)} MiB`, '', '']]),
    ],
  };
}

function micros(value: number | undefined): string {
  return value === undefined ? '–' : `${grouped(value)} µs a message`;
}

/** With two significant digits: more would say more than is known. */
function perSecond(cost: number | undefined): string {
  if (cost === undefined) return '–';
  return `${grouped(Number(((USABLE_SHARE * MICROSECONDS) / cost).toPrecision(2)))} messages/s`;
}
