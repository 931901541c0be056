import type { ContenderName } from '../contenders/contender.js';
import { DAY, type Sizes, TOPIC } from '../sizes.js';
import { BEE_QUEUE, BULLMQ, type FigureOf, grouped, OURS, type Trial } from './figure.js';

const CONCURRENCY = 100;
const PARTITIONS = [1, 8, 64];

export const idle: FigureOf = (sizes) => ({
  name: 'idle',
  title: 'Cost of idling',
  description:
    `One process consumes a topic in which nothing is due, and in which messages wait only if the row says so: commands ` +
    `that Redis processes, including those within scripts, and CPU time of the process as a share of one core, over ` +
    `${sizes.idle / 1000} s, beginning ${sizes.settle / 1000} s after its start.`,
  measures: [
    { key: 'commands', label: 'Redis commands', unit: '/s', better: 'less', digits: 2 },
    { key: 'cpu', label: 'CPU', unit: '% of a core', better: 'less', digits: 3 },
  ],
  baseline: BULLMQ,
  trials: [
    ...PARTITIONS.map((partitions) =>
      trial(OURS, sizes, { partitions, subject: `${OURS}, partitions: ${partitions}` }),
    ),
    trial(OURS, sizes, {
      partitions: 8,
      waiting: sizes.idleWaiting,
      subject: `${OURS}, partitions: 8, waiting: ${grouped(sizes.idleWaiting)}`,
    }),
    trial(BULLMQ, sizes),
    trial(BEE_QUEUE, sizes),
  ],
});

interface Idling {
  readonly subject?: string;
  readonly partitions?: number;
  /** Messages that are due later. */
  readonly waiting?: number;
}

function trial(name: ContenderName, { idle: window, settle }: Sizes, idling: Idling = {}): Trial {
  const { subject = name, partitions = 1, waiting = 0 } = idling;
  return {
    subject,
    measure: async (bench) => {
      const queue = { topics: [TOPIC], partitions };
      if (waiting > 0) await bench.run(name, 'load', { ...queue, messages: waiting, lead: DAY });
      const options = { ...queue, concurrency: CONCURRENCY, settle, window };
      const client = bench.start(name, 'idle', options);
      await client.ready;
      const before = await bench.redis.commands();
      const { cpu } = await client.result;
      // INFO does not count itself: the second reply includes the first INFO, but not the second.
      const commands = (await bench.redis.commands()) - before - 1;
      return { commands: commands / (window / 1000), cpu: cpu * 100 };
    },
  };
}
