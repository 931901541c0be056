import { BULLMQ, type FigureOf, grouped, QUEUES } from './figure.js';
import { HANDLED, handleTrial } from './support/handle-rate.js';

/** A handler that takes one message at a time, which is also what each message of a calm topic meets. */
export const oneAtATime = lowConcurrency('one-at-a-time', 'Handling one at a time', 1);

export const tenAtATime = lowConcurrency('ten-at-a-time', 'Handling ten at a time', 10);

function lowConcurrency(name: string, title: string, concurrency: number): FigureOf {
  return ({ few: messages }) => ({
    name,
    title,
    description:
      `${grouped(messages)} messages are already due; one process handles them with concurrency ${concurrency} and a handler that does ` +
      `nothing. Measured from the start of consumption to the last message handled.`,
    measures: [HANDLED],
    baseline: BULLMQ,
    trials: QUEUES.map((subject) => handleTrial(subject, { messages, concurrency, warmUp: messages })),
  });
}
