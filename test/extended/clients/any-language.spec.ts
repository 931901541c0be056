import { describe, expect, it } from 'vitest';
import type { TestProcess } from '../../support/processes/test-process.js';
import { useSample } from '../../support/samples/sample.js';
import { eventually } from '../../support/waiting.js';

/** Go compiles the watcher before it runs, and the story waits for a lease. */
const LONG = 180_000;

/** The processes of the programs that a shop has started. */
function programsOf({ output }: TestProcess): number[] {
  return [...output.matchAll(/is process (\d+)$/gm)].map(([, pid]) => Number(pid));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('sample/07-any-language', () => {
  const sample = useSample('07-any-language');

  it('plays a story of which every part comes true, and leaves nothing running', { timeout: LONG }, async () => {
    const shop = sample.start('main');
    await shop.exit();

    expect(shop.output).toContain('Every part of the story came true.');
    expect(shop.ending).toBe(0);
    expect(shop.output.match(/✓/g)).toHaveLength(11);
    expect(programsOf(shop)).toHaveLength(4);
    expect(programsOf(shop).filter(isRunning)).toEqual([]);
    expect(await sample.stored.ofConsumers()).toEqual([]);
  });

  it.each(['SIGINT', 'SIGKILL'] as const)('ends its programs when %s ends it', { timeout: LONG }, async (signal) => {
    const shop = sample.start('main');
    // Not before: the compiler is not one of the programs.
    await eventually(() => expect(shop.output).toContain('the shop has the invoice back'), 60_000);
    const programs = programsOf(shop);
    expect(programs.filter(isRunning)).toEqual(programs);
    expect(programs.length).toBeGreaterThanOrEqual(2);

    shop.signal(signal);
    await shop.exit();
    expect(shop.ending).toBe(signal);
    expect(shop.output).not.toContain('✗');
    // One more may have been started meanwhile.
    await eventually(() => expect(programsOf(shop).filter(isRunning)).toEqual([]));
  });
});
