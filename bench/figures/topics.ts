import { PARTITIONS, type Sizes, TOPIC } from '../sizes.js';
import { type FigureOf, grouped, OURS, type Trial } from './figure.js';
import { HANDLED, handleRate } from './support/handle-rate.js';

const CONCURRENCY = 500;
const NUMBERS = [1, 10];

export const topics: FigureOf = (sizes) => ({
  name: 'topics',
  title: 'Several topics in one process',
  description:
    `${grouped(sizes.longBacklog)} messages are already due, in one topic or spread evenly over several. Each topic has ` +
    `${PARTITIONS} partitions and its own handler; one process handles all. Concurrency ${CONCURRENCY}.`,
  measures: [HANDLED],
  trials: NUMBERS.map((number) => trial(number, sizes)),
});

function subjectOf(number: number): string {
  return `topics: ${number}`;
}

function trial(number: number, { longBacklog: messages, warmUp }: Sizes): Trial {
  const names = Array.from({ length: number }, (_, i) => `${TOPIC}-${i}`);
  return {
    subject: subjectOf(number),
    measure: async (bench) => {
      await bench.run(OURS, 'load', { topics: names, partitions: PARTITIONS, messages });
      const consume = { topics: names, messages, concurrency: CONCURRENCY, warmUp };
      return { rate: (await handleRate(bench, OURS, consume)).rate };
    },
  };
}
