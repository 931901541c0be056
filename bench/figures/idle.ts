import type { ContenderName } from '../contenders/contender.js';
import { type Sizes, TOPIC } from '../sizes.js';
import { BEE_QUEUE, BULLMQ, type FigureOf, OURS, type Trial } from './figure.js';

/** What starting leaves to be done is over by then, in milliseconds. */
const SETTLE = 3000;
const CONCURRENCY = 100;
const PARTITIONS = [1, 8, 64];

export const idle: FigureOf = (sizes) => ({
  name: 'idle',
  title: 'Cost of idling',
  description:
    `One process consumes a topic in which nothing waits: commands that Redis processes, those within scripts included, ` +
    `and CPU time of the process as a share of one core, over ${sizes.idle / 1000} s.`,
  measures: [
    { key: 'commands', label: 'Redis commands', unit: '/s', better: 'less', digits: 1 },
    { key: 'cpu', label: 'CPU', unit: '% of a core', better: 'less', digits: 2 },
  ],
  baseline: BULLMQ,
  trials: [
    ...PARTITIONS.map((partitions) => trial(OURS, sizes, partitions, `${OURS}, partitions: ${partitions}`)),
    trial(BULLMQ, sizes),
    trial(BEE_QUEUE, sizes),
  ],
});

function trial(name: ContenderName, { idle: window }: Sizes, partitions = 1, subject: string = name): Trial {
  return {
    subject,
    measure: async (bench) => {
      const options = { topics: [TOPIC], partitions, concurrency: CONCURRENCY, settle: SETTLE, window };
      const client = bench.start(name, 'idle', options);
      await client.ready;
      const before = await bench.redis.commands();
      const { cpu } = await client.result;
      // The second question for the number of commands is not counted in its own answer, the first one is.
      const commands = (await bench.redis.commands()) - before - 1;
      return { commands: commands / (window / 1000), cpu: cpu * 100 };
    },
  };
}
