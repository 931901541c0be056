import type { ContenderName } from '../contenders/contender.js';
import { PARTITIONS, type Sizes, TOPIC } from '../sizes.js';
import { BARE, BULLMQ, type FigureOf, grouped, QUEUES, type Trial } from './figure.js';
import { handleRate } from './support/handle-rate.js';

const CONCURRENCIES = [50, 100, 500, 2000];

export const backlog: FigureOf = (sizes) => ({
  name: 'backlog',
  title: 'Handling a backlog',
  description:
    `${grouped(sizes.backlog)} messages are already due; one process handles them with a handler that does nothing. ` +
    `Measured from the start of consumption to the last message handled, with the best concurrency for each contender ` +
    `of ${CONCURRENCIES.join(', ')}.`,
  measures: [{ key: 'rate', label: 'handled', unit: 'messages/s', better: 'more', digits: 0 }],
  baseline: BULLMQ,
  trials: [
    ...CONCURRENCIES.flatMap((concurrency) =>
      QUEUES.map((name) => ({ ...trial(name, sizes, concurrency), variant: `concurrency ${concurrency}` })),
    ),
    trial(BARE, sizes, 1),
  ],
});

function trial(subject: ContenderName, { backlog: messages, warmUp }: Sizes, concurrency: number): Trial {
  const topics = [TOPIC];
  return {
    subject,
    measure: async (bench) => {
      await bench.run(subject, 'load', { topics, partitions: PARTITIONS, messages });
      return { rate: await handleRate(bench, subject, { topics, messages, concurrency, warmUp }) };
    },
  };
}
