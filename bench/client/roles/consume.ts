import { now } from '../../contenders/contender.js';
import type { RoleContext } from '../role-context.js';
import { between, measureClockOffset } from '../clock-offset.js';
import { type Lateness, latenessOf } from '../lateness.js';
import { warmUp } from '../warm-up.js';

/** How often the process reports how many messages were handled, in milliseconds. */
const PROGRESS_INTERVAL = 25;

export interface ConsumeOptions {
  readonly topics: readonly string[];
  readonly partitions: number;
  /** Whether messages of one key are handled in order. @defaultValue false */
  readonly ordered?: boolean | undefined;
  readonly concurrency: number;
  /** How many finished messages of each partition are kept. @defaultValue none */
  readonly finished?: number | undefined;
  /** Messages published and handled before, and not counted. */
  readonly warmUp: number;
  /** How many messages are handled before lateness and CPU time count. @defaultValue 0 */
  readonly leadIn?: number;
}

export interface ConsumeResult {
  readonly handled: number;
  /** Start of consumption, epoch milliseconds. */
  readonly startedAt: number;
  /** When the last message was handled, epoch milliseconds. */
  readonly lastAt: number;
  readonly lateness: Lateness;
  /** CPU time of the process for each message that counts, in microseconds. */
  readonly cpu: number;
}

/** Handles messages until it is told to finish, and only records the time of each. */
export async function consume(context: RoleContext, options: ConsumeOptions): Promise<ConsumeResult> {
  const { contender, redisUrl, finish } = context;
  await warmUp(contender, { ...options, redisUrl, messages: options.warmUp });
  const offsetBefore = await measureClockOffset(redisUrl);

  const { leadIn = 0 } = options;
  const values: number[] = [];
  let lastAt = 0;
  let cpuBefore = process.cpuUsage();
  const consumer = await contender.consumer({ ...options, redisUrl }, async ({ dueAt }) => {
    lastAt = now();
    if (values.length === leadIn) cpuBefore = process.cpuUsage();
    values.push(lastAt - dueAt);
  });
  context.ready();
  let told = 0;
  const progress = setInterval(() => {
    if (values.length > told) context.handled((told = values.length));
  }, PROGRESS_INTERVAL);
  await finish;
  clearInterval(progress);
  const { user, system } = process.cpuUsage(cpuBefore);
  const clock = between(offsetBefore, await measureClockOffset(redisUrl));
  // Closes gracefully, so that another process can take over at once.
  await consumer.close();
  return {
    handled: values.length,
    startedAt: consumer.startedAt + clock.offset,
    lastAt: lastAt + clock.offset,
    lateness: latenessOf(values, clock, leadIn),
    cpu: (user + system) / (values.length - leadIn),
  };
}
