import { BULLMQ, type Figure, type FigureOf, grouped, QUEUES } from './figure.js';
import { HANDLED, handleTrial } from './support/handle-rate.js';

/** A handler that takes one message at a time, which is also what each message of a calm topic meets. */
export const oneAtATime: FigureOf = ({ few }) => lowConcurrency('one-at-a-time', 'Handling one at a time', 1, few);

/** As many messages as of a backlog with more concurrency, so that the start counts for as much. */
export const tenAtATime: FigureOf = ({ backlog }) =>
  lowConcurrency('ten-at-a-time', 'Handling ten at a time', 10, backlog);

function lowConcurrency(name: string, title: string, concurrency: number, messages: number): Figure {
  return {
    name,
    title,
    description:
      `${grouped(messages)} messages are already due; one process handles them with concurrency ${concurrency} and a handler that does ` +
      `nothing. Measured from the start of consumption to the last message handled.`,
    measures: [HANDLED],
    baseline: BULLMQ,
    trials: QUEUES.map((subject) => handleTrial(subject, { messages, concurrency, warmUp: messages })),
  };
}
