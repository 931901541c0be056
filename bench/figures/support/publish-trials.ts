import { BARE_BATCH, type ContenderName } from '../../contenders/contender.js';
import { PARTITIONS, type Sizes, TOPIC } from '../../sizes.js';
import { BARE, type Measure, QUEUES, type Trial } from '../figure.js';
import { REDIS_COST, withRedisCost } from './redis-cost.js';

const HOUR = 3_600_000;

/** How to call a contender. */
interface Calls {
  readonly perCall: number;
  readonly inTheAir: number;
}

/** Every partition has a call under way, and the next one waits behind it. */
const BARE_CALLS: Calls = { perCall: BARE_BATCH * PARTITIONS, inTheAir: 2 };

export const PUBLISH_MEASURES: readonly Measure[] = [
  { key: 'later', label: 'due in an hour', unit: 'messages/s', better: 'more', digits: 0 },
  { key: 'atOnce', label: 'due at once', unit: 'messages/s', better: 'more', digits: 0 },
  REDIS_COST,
];

/** Trials of publishing: the queues use the given calls, the bare scripts their own. */
export function publishTrials(sizes: Sizes, calls: Calls): Trial[] {
  return [...QUEUES.map((name) => trial(name, sizes, calls)), trial(BARE, sizes, BARE_CALLS)];
}

function trial(subject: ContenderName, sizes: Sizes, calls: Calls): Trial {
  return {
    subject,
    measure: async (bench) => {
      const options = {
        ...calls,
        topic: TOPIC,
        partitions: PARTITIONS,
        messages: sizes.publish,
        warmUp: sizes.warmUp,
      };
      const { result: later, redis } = await withRedisCost(bench, sizes.publish + sizes.warmUp, () =>
        bench.run(subject, 'publish', { ...options, delay: HOUR }),
      );
      await bench.redis.empty();
      const atOnce = await bench.run(subject, 'publish', options);
      return { later: later.rate, atOnce: atOnce.rate, redis };
    },
  };
}
