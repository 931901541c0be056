import type { ContenderName } from '../../contenders/contender.js';
import type { Bench } from '../../harness/bench.js';
import { Consumption } from '../../harness/consumption.js';
import { PARTITIONS, TOPIC } from '../../sizes.js';
import type { Measure, Trial } from '../figure.js';
import { withRedisCost } from './redis-cost.js';

/** The rate that {@link handleRate} measures, as a column. */
export const HANDLED: Measure = { key: 'rate', label: 'handled', unit: 'messages/s', better: 'more', digits: 0 };

/** Fills one topic with messages that are due, and lets one process handle them. */
export function handleTrial(
  subject: ContenderName,
  options: Pick<HandleRateOptions, 'messages' | 'concurrency' | 'warmUp'>,
): Trial {
  const topics = [TOPIC];
  return {
    subject,
    measure: async (bench) => {
      await bench.run(subject, 'load', { topics, partitions: PARTITIONS, messages: options.messages });
      return { ...(await handleRate(bench, subject, { topics, ...options })) };
    },
  };
}

export interface HandleRateOptions {
  readonly topics: readonly string[];
  /** Whether messages of one key are handled in order. @defaultValue false */
  readonly ordered?: boolean | undefined;
  readonly messages: number;
  readonly concurrency: number;
  readonly warmUp: number;
  /** How many finished messages of each partition are kept. @defaultValue none */
  readonly finished?: number | undefined;
}

export interface HandleRate {
  /** Messages per second, from the start of consumption to the last one handled. */
  readonly rate: number;
  /** CPU time of Redis for each of them, in microseconds. */
  readonly redis: number;
}

/** Lets one process handle messages that are already due. */
export async function handleRate(
  bench: Bench,
  contender: ContenderName,
  { topics, ordered, messages, concurrency, warmUp, finished }: HandleRateOptions,
): Promise<HandleRate> {
  const consumption = await Consumption.start(bench, contender, {
    topics,
    partitions: PARTITIONS,
    ordered,
    concurrency,
    warmUp,
    finished,
  });
  const { result: results, redis } = await withRedisCost(bench, messages, () => consumption.finish(messages));
  const [result] = results;
  if (!result) throw new Error('No process consumed.');
  return { rate: result.handled / ((result.lastAt - result.startedAt) / 1000), redis };
}
