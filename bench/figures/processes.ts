import { Consumption } from '../harness/consumption.js';
import { PARTITIONS, type Sizes, TOPIC } from '../sizes.js';
import { type FigureOf, grouped, OURS, type Trial } from './figure.js';
import { leadFor } from './support/lateness.js';
import { HANDLED } from './support/handle-rate.js';

const CONCURRENCY = 500;
const NUMBERS = [1, 2, 4];

export const processes: FigureOf = (sizes) => ({
  name: 'processes',
  title: 'Several processes on one topic',
  description:
    `${grouped(sizes.longBacklog)} messages fall due in the same millisecond, while this many processes share the ` +
    `${PARTITIONS} partitions of their topic. Measured from then to the last message handled. Concurrency ` +
    `${CONCURRENCY} in each. All processes and Redis share the cores of the machine.`,
  measures: [HANDLED],
  trials: NUMBERS.map((number) => trial(number, sizes)),
});

function subjectOf(number: number): string {
  return `processes: ${number}`;
}

function trial(number: number, { longBacklog: messages, warmUp }: Sizes): Trial {
  const queue = { topics: [TOPIC], partitions: PARTITIONS };
  return {
    subject: subjectOf(number),
    measure: async (bench) => {
      const consumption = await Consumption.start(bench, OURS, { ...queue, concurrency: CONCURRENCY, warmUp }, number);
      const { firstDueAt } = await bench.run(OURS, 'load', { ...queue, messages, lead: leadFor(OURS, messages) });
      const results = await consumption.finish(messages);
      const lastAt = Math.max(...results.map((result) => result.lastAt));
      return { rate: messages / ((lastAt - firstDueAt) / 1000) };
    },
  };
}
