import { PARTITIONS, TOPIC } from '../sizes.js';
import { BULLMQ, type FigureOf, grouped, QUEUES } from './figure.js';

const HOUR = 3_600_000;

export const memory: FigureOf = ({ waiting: messages }) => ({
  name: 'memory',
  title: 'Memory of a waiting message in Redis',
  description:
    `Growth of \`used_memory\` with ${grouped(messages)} messages that are due in an hour, divided by their number; ours ` +
    `are in ${PARTITIONS} partitions.`,
  measures: [{ key: 'bytes', label: 'a message', unit: 'B', better: 'less', digits: 0 }],
  baseline: BULLMQ,
  trials: QUEUES.map((name) => ({
    subject: name,
    measure: async (bench) => {
      const before = await bench.redis.usedMemory();
      await bench.run(name, 'load', { topics: [TOPIC], partitions: PARTITIONS, messages, lead: HOUR });
      return { bytes: ((await bench.redis.usedMemory()) - before) / messages };
    },
  })),
});
