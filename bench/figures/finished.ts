import { PARTITIONS, type Sizes, TOPIC } from '../sizes.js';
import { type FigureOf, grouped, OURS, type Trial } from './figure.js';
import { HANDLED, handleRate } from './support/handle-rate.js';

const CONCURRENCY = 500;

/** Enough to keep all of them. */
const ALL = 100_000_000;

export const finished: FigureOf = (sizes) => ({
  name: 'finished',
  title: 'With finished messages kept',
  description:
    `${grouped(sizes.backlog)} messages are already due; one process handles them with concurrency ${CONCURRENCY}, and the ` +
    `option \`finished\` keeps them. Before that the topic keeps none, or as many as it says. The last row is without the ` +
    `option. What a message leaves in Redis is the growth of \`used_memory\` from before it was published.`,
  measures: [
    HANDLED,
    { key: 'bytes', label: 'left of a message', unit: 'B', better: 'less', digits: 0, incomparable: true },
  ],
  trials: [
    trial('kept before: none', sizes, { kept: 0, keeps: ALL }),
    trial(`kept before: ${grouped(sizes.finished)}`, sizes, { kept: sizes.finished, keeps: ALL }),
    trial('nothing is kept', sizes, { kept: 0, keeps: undefined }),
  ],
});

function trial(
  subject: string,
  { backlog: messages, warmUp }: Sizes,
  { kept, keeps }: { kept: number; keeps: number | undefined },
): Trial {
  const topics = [TOPIC];
  return {
    subject,
    measure: async (bench) => {
      const queue = { topics, partitions: PARTITIONS };
      const consume = { topics, concurrency: CONCURRENCY, warmUp, finished: keeps };
      // What Redis has once it has served anything at all.
      await bench.run(OURS, 'load', { ...queue, messages: 1 });
      await handleRate(bench, OURS, { ...consume, messages: 1 });
      if (kept > 0) {
        await bench.run(OURS, 'load', { ...queue, messages: kept });
        await handleRate(bench, OURS, { ...consume, messages: kept });
      }
      const before = await bench.redis.usedMemory();
      await bench.run(OURS, 'load', { ...queue, messages });
      const { rate } = await handleRate(bench, OURS, { ...consume, messages });
      return { rate, bytes: ((await bench.redis.usedMemory()) - before) / messages };
    },
  };
}
