import { DAY, PARTITIONS, type Sizes, TOPIC } from '../sizes.js';
import { type FigureOf, grouped, OURS, type Trial } from './figure.js';
import { handleRate } from './support/handle-rate.js';
import { lateness, leadFor } from './support/lateness.js';
import { PER_SECOND } from './support/spread-trials.js';

const CONCURRENCY = 500;
const IN_THE_AIR = 500;
const GIB = 1024 ** 3;

export const growth: FigureOf = (sizes) => ({
  name: 'growth',
  title: 'With many messages waiting',
  description:
    `The topic holds this many messages that are due in a day or later. Meanwhile ${grouped(sizes.publish)} messages are ` +
    `published one by one, with ${IN_THE_AIR} concurrent calls; the same messages are handled, with concurrency ` +
    `${CONCURRENCY}; and ${grouped(sizes.spread)} messages fall due one after another, ${PER_SECOND} per second.`,
  measures: [
    { key: 'handled', label: 'handled', unit: 'messages/s', better: 'more', digits: 0 },
    { key: 'published', label: 'published', unit: 'messages/s', better: 'more', digits: 0 },
    { key: 'p50', label: 'p50 late', unit: 'ms', better: 'less', digits: 1 },
    { key: 'p99', label: 'p99 late', unit: 'ms', better: 'less', digits: 1 },
    { key: 'memory', label: 'Redis memory', unit: 'GiB', better: 'less', digits: 2, incomparable: true },
  ],
  trials: sizes.growth.map((waiting) => trial(waiting, sizes)),
});

function subjectOf(waiting: number): string {
  return `waiting: ${grouped(waiting)}`;
}

function trial(waiting: number, { publish: messages, spread, leadIn, warmUp }: Sizes): Trial {
  const topics = [TOPIC];
  return {
    subject: subjectOf(waiting),
    measure: async (bench) => {
      const queue = { topics, partitions: PARTITIONS };
      await bench.run(OURS, 'load', { ...queue, messages: waiting, lead: DAY, step: 1 });
      const memory = (await bench.redis.usedMemory()) / GIB;
      const { rate: published } = await bench.run(OURS, 'publish', {
        topic: TOPIC,
        partitions: PARTITIONS,
        messages,
        warmUp,
        perCall: 1,
        inTheAir: IN_THE_AIR,
      });
      // The publisher warmed up on the same topic, and no message of that may be left for the next figure.
      const due = messages + warmUp;
      const { rate: handled } = await handleRate(bench, OURS, {
        topics,
        messages: due,
        concurrency: CONCURRENCY,
        warmUp,
      });
      const { p50 = NaN, p99 = NaN } = await lateness(bench, OURS, {
        messages: spread,
        leadIn,
        lead: leadFor(OURS, leadIn + spread),
        step: 1000 / PER_SECOND,
        concurrency: CONCURRENCY,
        warmUp,
      });
      return { handled, published, p50, p99, memory };
    },
  };
}
