import { BULLMQ, type FigureOf, grouped } from './figure.js';
import { LATENESS_MEASURES } from './support/lateness.js';
import { CONCURRENCY, PER_SECOND, spreadTrials } from './support/spread-trials.js';

export const spread: FigureOf = (sizes) => ({
  name: 'spread',
  title: 'Lateness, published before',
  description:
    `${grouped(sizes.spread)} messages, published beforehand, fall due one after another, ${PER_SECOND} a second, each at ` +
    `a time of its own; nothing else uses Redis. Time between due and handled on Redis's clock. Concurrency ${CONCURRENCY}. ` +
    `Before them come ${grouped(sizes.leadIn)} that do not count.`,
  measures: LATENESS_MEASURES,
  baseline: BULLMQ,
  trials: spreadTrials(sizes),
});
