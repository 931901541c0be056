import { describe, expect, it, vi } from 'vitest';
import type { FileResult } from '../../../scripts/checks/report.mjs';
import { lookAgain } from '../../../scripts/checks/second-look.mjs';

type Result = FileResult & { project?: string };

const FAILURE = { name: 'promise', error: 'Error: it is broken' };
const SOUND: Result = { file: 'a.spec.ts', project: 'in-process', milliseconds: 1, passed: 2, failures: [] };
const BROKEN: Result = { ...SOUND, file: 'b.spec.ts', passed: 1, failures: [FAILURE] };

describe('the second look', () => {
  it('runs only the file that failed, and counts it as passed but unsteady if it passes then', async () => {
    const run = vi.fn<(result: Result) => Promise<Result[]>>(async () => [{ ...SOUND, file: 'b.spec.ts' }]);
    const results = await lookAgain([SOUND, BROKEN], run);
    expect(run.mock.calls).toEqual([[BROKEN]]);
    expect(results).toEqual([SOUND, { ...SOUND, file: 'b.spec.ts', unsteady: FAILURE }]);
  });

  it('counts what fails again, also if Vitest itself does', async () => {
    const second = { ...BROKEN, failures: [{ name: 'promise', error: 'Error: again' }] };
    expect(await lookAgain([BROKEN], async () => [second])).toEqual([second]);
    const vitest: Result = { file: 'vitest', milliseconds: 0, passed: 0, failures: [FAILURE] };
    expect(await lookAgain([BROKEN], async () => [vitest])).toEqual([{ ...vitest, file: 'b.spec.ts' }]);
  });

  it('leaves alone what failed outside of all files', async () => {
    const whole: Result = { file: 'vitest', milliseconds: 0, passed: 0, failures: [FAILURE] };
    const run = vi.fn<(result: Result) => Promise<Result[]>>();
    expect(await lookAgain([whole], run)).toEqual([whole]);
    expect(run).not.toHaveBeenCalled();
  });
});
