import { BULLMQ, type FigureOf, grouped } from './figure.js';
import { LATENESS_MEASURES } from './support/lateness.js';
import { CONCURRENCY, PER_SECOND, spreadTrials } from './support/spread-trials.js';

export const spread: FigureOf = (sizes) => ({
  name: 'spread',
  title: 'Lateness, published before',
  description:
    `${grouped(sizes.spread)} messages, published in advance, fall due one after another, ${PER_SECOND} per second, each at ` +
    `its own time; nothing else uses Redis. Time from due to handled on Redis's clock. Concurrency ${CONCURRENCY}. ` +
    `${grouped(sizes.leadIn)} more come before them and do not count.`,
  measures: LATENESS_MEASURES,
  baseline: BULLMQ,
  trials: spreadTrials(sizes),
});
