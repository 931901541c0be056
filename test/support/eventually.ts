import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until `condition` gives something that is not `undefined` or `false`.
 *
 * @param deadline milliseconds
 * @throws where it does not in time; `what` says what was awaited
 */
export async function eventually<T>(
  what: string,
  condition: () => T | Promise<T>,
  deadline = 10_000,
): Promise<Exclude<T, false | undefined>> {
  const end = performance.now() + deadline;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false) return value as Exclude<T, false | undefined>;
    if (performance.now() > end) throw new Error(`Waited ${deadline} ms in vain for: ${what}`);
    await sleep(5);
  }
}
