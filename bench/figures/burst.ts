import { BULLMQ, type FigureOf, grouped, QUEUES } from './figure.js';
import { lateness, leadFor } from './support/lateness.js';

const CONCURRENCIES = [100, 500, 2000];

export const burst: FigureOf = ({ burst: messages, warmUp }) => ({
  name: 'burst',
  title: 'A burst',
  description:
    `${grouped(messages)} messages fall due in the same millisecond while one process waits for them: the lateness of ` +
    `the last one, of the median and of the slowest hundredth. With the best concurrency for each contender of ` +
    `${CONCURRENCIES.join(', ')}.`,
  measures: [
    { key: 'max', label: 'last', unit: 'ms', better: 'less', digits: 0 },
    { key: 'p50', label: 'p50', unit: 'ms', better: 'less', digits: 0 },
    { key: 'p99', label: 'p99', unit: 'ms', better: 'less', digits: 0 },
    { key: 'early', label: 'early', unit: '', better: 'less', digits: 0, incomparable: true },
  ],
  baseline: BULLMQ,
  trials: CONCURRENCIES.flatMap((concurrency) =>
    QUEUES.map((name) => ({
      subject: name,
      variant: `concurrency ${concurrency}`,
      measure: (bench) => lateness(bench, name, { messages, lead: leadFor(name, messages), concurrency, warmUp }),
    })),
  ),
});
