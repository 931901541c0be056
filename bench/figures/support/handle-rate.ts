import type { ContenderName } from '../../contenders/contender.js';
import type { Bench } from '../../harness/bench.js';
import { Consumption } from '../../harness/consumption.js';
import { PARTITIONS } from '../../sizes.js';

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

/**
 * Lets one process handle messages that are already due.
 *
 * @returns messages per second, from the start of consumption to the last one handled
 */
export async function handleRate(
  bench: Bench,
  contender: ContenderName,
  { topics, ordered, messages, concurrency, warmUp, finished }: HandleRateOptions,
): Promise<number> {
  const consumption = await Consumption.start(bench, contender, {
    topics,
    partitions: PARTITIONS,
    ordered,
    concurrency,
    warmUp,
    finished,
  });
  const [result] = await consumption.finish(messages);
  if (!result) throw new Error('No process consumed.');
  return result.handled / ((result.lastAt - result.startedAt) / 1000);
}
