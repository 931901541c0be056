import { PARTITIONS, type Sizes, TOPIC } from '../sizes.js';
import { type FigureOf, grouped, OURS, type Trial } from './figure.js';
import { handleRate } from './support/handle-rate.js';

const CONCURRENCY = 500;
const PER_CALL = 500;
const IN_THE_AIR = 4;
const KEYS = 10_000;

export const ordered: FigureOf = (sizes) => ({
  name: 'ordered',
  title: 'An ordered topic',
  description:
    `${grouped(sizes.publish)} messages of ${grouped(KEYS)} keys are published, ${PER_CALL} per call, and then handled by one ` +
    `process with concurrency ${CONCURRENCY}: in a topic without order, and in one that handles the messages of each key one ` +
    `after the other.`,
  measures: [
    { key: 'handled', label: 'handled', unit: 'messages/s', better: 'more', digits: 0 },
    { key: 'published', label: 'published', unit: 'messages/s', better: 'more', digits: 0 },
  ],
  trials: [trial('without order', false, sizes), trial('ordered', true, sizes)],
});

function trial(subject: string, isOrdered: boolean, { publish: messages, warmUp }: Sizes): Trial {
  return {
    subject,
    measure: async (bench) => {
      const { rate: published } = await bench.run(OURS, 'publish', {
        topic: TOPIC,
        partitions: PARTITIONS,
        ordered: isOrdered,
        messages,
        warmUp,
        perCall: PER_CALL,
        inTheAir: IN_THE_AIR,
        keys: KEYS,
      });
      const { rate: handled } = await handleRate(bench, OURS, {
        topics: [TOPIC],
        ordered: isOrdered,
        // The publisher warmed up on the same topic.
        messages: messages + warmUp,
        concurrency: CONCURRENCY,
        warmUp,
      });
      return { handled, published };
    },
  };
}
