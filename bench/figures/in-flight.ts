import { PARTITIONS, TOPIC } from '../sizes.js';
import { BULLMQ, type FigureOf, grouped, QUEUES } from './figure.js';

const MIB = 1024 ** 2;

export const inFlight: FigureOf = ({ inFlight: messages, warmUp }) => ({
  name: 'in-flight',
  title: 'Memory of a process with messages in flight',
  description:
    `Resident memory of one process whose handlers wait, with ${grouped(messages)} messages in flight at the same time, ` +
    `and the share of one message.`,
  measures: [
    { key: 'resident', label: 'resident', unit: 'MiB', better: 'less', digits: 0 },
    { key: 'each', label: 'a message', unit: 'B', better: 'less', digits: 0 },
  ],
  baseline: BULLMQ,
  trials: QUEUES.map((name) => ({
    subject: name,
    measure: async (bench) => {
      const queue = { partitions: PARTITIONS, messages };
      await bench.run(name, 'load', { ...queue, topics: [TOPIC] });
      const { before, holding } = await bench.run(name, 'hold', { ...queue, topic: TOPIC, warmUp });
      return { resident: holding / MIB, each: (holding - before) / messages };
    },
  })),
});
