import type { ContenderName } from '../contenders/contender.js';
import type { Sizes } from '../sizes.js';
import { BARE, BULLMQ, type FigureOf, grouped, QUEUES, type Trial } from './figure.js';
import { HANDLED, handleTrial } from './support/handle-rate.js';
import { REDIS_COST } from './support/redis-cost.js';

const CONCURRENCIES = [50, 100, 500, 2000];

export const backlog: FigureOf = (sizes) => ({
  name: 'backlog',
  title: 'Handling a backlog',
  description:
    `${grouped(sizes.backlog)} messages are already due; one process handles them with a handler that does nothing. ` +
    `Measured from the start of consumption to the last message handled, with the best concurrency for each contender ` +
    `of ${CONCURRENCIES.join(', ')}.`,
  measures: [HANDLED, REDIS_COST],
  baseline: BULLMQ,
  trials: [
    ...CONCURRENCIES.flatMap((concurrency) =>
      QUEUES.map((name) => ({ ...trial(name, sizes, concurrency), variant: `concurrency ${concurrency}` })),
    ),
    trial(BARE, sizes, 1),
  ],
});

function trial(subject: ContenderName, { backlog: messages, warmUp }: Sizes, concurrency: number): Trial {
  return handleTrial(subject, { messages, concurrency, warmUp });
}
