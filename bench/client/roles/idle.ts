import { setTimeout as sleep } from 'node:timers/promises';
import type { RoleContext } from '../role-context.js';

export interface IdleOptions {
  readonly topics: readonly string[];
  readonly partitions: number;
  readonly concurrency: number;
  /** Milliseconds from the start until the cost is measured. */
  readonly settle: number;
  /** Milliseconds. */
  readonly window: number;
}

export interface IdleResult {
  /** CPU time of this process, as a share of one core. */
  readonly cpu: number;
}

/** Consumes with nothing to handle; is ready when the measurement begins, and has a result when it ends. */
export async function idle({ contender, redisUrl, ready }: RoleContext, options: IdleOptions): Promise<IdleResult> {
  await contender.consumer({ ...options, redisUrl }, async () => {
    throw new Error('A message came, although none was published.');
  });
  await sleep(options.settle);
  ready();
  const before = process.cpuUsage();
  await sleep(options.window);
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / 1000 / options.window };
}
