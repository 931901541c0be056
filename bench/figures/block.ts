import { Consumption } from '../harness/consumption.js';
import { PARTITIONS, TOPIC } from '../sizes.js';
import { BULLMQ, type FigureOf, grouped, QUEUES } from './figure.js';
import { leadFor } from './support/lateness.js';

const CONCURRENCY = 500;

/** For how long the messages are handled, in milliseconds; the rest is ignored. */
const TIME_LIMIT = 30_000;

export const block: FigureOf = ({ block: messages, warmUp }) => ({
  name: 'block',
  title: 'Longest block of Redis',
  description:
    `${grouped(messages)} messages fall due in the same millisecond while one process waits for them: the command that ` +
    `kept Redis busy longest, according to its SLOWLOG, until all are handled or ${TIME_LIMIT / 1000} s are over. SLOWLOG ` +
    `measures wall time, which includes waiting for a core, so Redis has priority over other programs here, if the user ` +
    `may set it. Concurrency ${CONCURRENCY}.`,
  measures: [{ key: 'block', label: 'longest command', unit: 'ms', better: 'less', digits: 1 }],
  baseline: BULLMQ,
  trials: QUEUES.map((name) => ({
    subject: name,
    measure: async (bench) => {
      const queue = { topics: [TOPIC], partitions: PARTITIONS };
      const consumption = await Consumption.start(bench, name, { ...queue, concurrency: CONCURRENCY, warmUp });
      const { firstDueAt } = await bench.run(name, 'load', { ...queue, messages, lead: leadFor(name, messages) });
      return bench.redis.preferred(async () => {
        await bench.redis.watchSlowCommands();
        await consumption.finish(messages, firstDueAt - Date.now() + TIME_LIMIT);
        return { block: await bench.redis.slowestCommand() };
      });
    },
  })),
});
