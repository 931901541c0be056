import { BULLMQ, type FigureOf, grouped } from './figure.js';
import { LATENESS_MEASURES } from './support/lateness.js';
import { CONCURRENCY, PER_SECOND, spreadTrials } from './support/spread-trials.js';

const AHEAD = 1000;

export const spreadLive: FigureOf = (sizes) => ({
  name: 'spread-live',
  title: 'Lateness, published meanwhile',
  description:
    `The same ${grouped(sizes.spread)} messages, ${PER_SECOND} per second, but another process publishes each one ` +
    `${AHEAD} ms before it is due, while the consumer works. Concurrency ${CONCURRENCY}.`,
  measures: LATENESS_MEASURES,
  baseline: BULLMQ,
  trials: spreadTrials({ ...sizes, ahead: AHEAD }),
});
