import { BULLMQ, type Figure, type FigureOf, grouped } from './figure.js';
import { COST_MEASURES } from './support/lateness.js';
import { CONCURRENCY, PER_SECOND, type Spread, spreadTrials } from './support/spread-trials.js';

/** How many times as many messages a second a busy topic has. */
const TIMES = 10;

export const calm: FigureOf = (sizes) => cost('calm', 'Cost of a calm topic', PER_SECOND, sizes);

/** For as long as a calm one. */
export const busy: FigureOf = ({ spread, leadIn, warmUp }) =>
  cost('busy', 'Cost of a busy topic', TIMES * PER_SECOND, { spread: TIMES * spread, leadIn: TIMES * leadIn, warmUp });

function cost(name: string, title: string, perSecond: number, sizes: Spread): Figure {
  return {
    name,
    title,
    description:
      `CPU time of Redis and of the consuming process for each of ${grouped(sizes.spread)} messages, published in advance, which fall due ` +
      `one after another, ${grouped(perSecond)} per second; ${grouped(sizes.leadIn)} more come before them and do not count. ` +
      `Concurrency ${CONCURRENCY}.`,
    measures: COST_MEASURES,
    baseline: BULLMQ,
    trials: spreadTrials({ ...sizes, perSecond }),
  };
}
