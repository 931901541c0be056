import { describe, expect, it } from 'vitest';
import { type FileResult, linesOf } from '../../../scripts/checks/report.mjs';

/** What CI keeps of the output, beside what `.ci/run` adds. */
const KEPT = 60 - 10;

function passed(file: string, seconds: number): FileResult {
  return { file, milliseconds: seconds * 1000, passed: 3, failures: [] };
}

function failed(file: string, failures: number): FileResult {
  const error = ['Error: it is broken', ...Array.from({ length: 100 }, (_, i) => `output ${i}`), 'at a.ts:1'].join(
    '\n',
  );
  return {
    ...passed(file, 1),
    failures: Array.from({ length: failures }, (_, i) => ({ name: `promise ${i}`, error })),
    again: `SEED=7 npm test -- ${file}`,
  };
}

describe('the end of a run', () => {
  it('counts in its last line', () => {
    expect(linesOf([passed('test/unit/a.spec.ts', 1), failed('test/unit/b.spec.ts', 2)]).at(-1)).toBe(
      '6 passed, 2 failed',
    );
  });

  it('shows the first error of a failure, and the seed with the command that repeats it', () => {
    const lines = linesOf([failed('test/unit/a.spec.ts', 1)]);
    expect(lines).toEqual(
      expect.arrayContaining([
        '  test/unit/a.spec.ts > promise 0',
        '    Error: it is broken',
        '    at a.ts:1',
        '    Again: SEED=7 npm test -- test/unit/a.spec.ts',
      ]),
    );
  });

  it('is kept whole by CI, however much has failed', () => {
    const results = Array.from({ length: 40 }, (_, i) => failed(`test/e2e/${i}.spec.ts`, 3));
    const unsteady = { name: 'promise', error: 'Error: once' };
    const lines = linesOf([...results, ...results.map((result) => ({ ...result, failures: [], unsteady }))]);
    expect(lines.length).toBeLessThanOrEqual(KEPT);
    expect(lines.at(-1)).toBe('240 passed, 120 failed');
  });

  it('names what is unsteady right before the last line, and counts it as passed', () => {
    const unsteady = { name: 'promise', error: 'Error: once\nat a.ts:1' };
    expect(
      linesOf([{ ...passed('test/e2e/a.spec.ts', 1), unsteady }, passed('test/e2e/b.spec.ts', 1)]).slice(-2),
    ).toEqual(['unsteady: test/e2e/a.spec.ts > promise: Error: once', '6 passed, 0 failed']);
  });

  it('shows the ten slowest files, and the time of each kind', () => {
    const files = Array.from({ length: 12 }, (_, i) => passed(`test/unit/${i}.spec.ts`, i));
    const lines = linesOf([...files, passed('sample/01/a.spec.ts', 20)]);
    const slowest = lines.slice(lines.indexOf('The slowest files:') + 1).slice(0, 11);
    expect(slowest[0]).toBe('   20.0 s  sample/01/a.spec.ts');
    expect(slowest[9]).toBe('    3.0 s  test/unit/3.spec.ts');
    expect(slowest[10]).toBe('Time of each kind: unit 66.0 s, sample 20.0 s');
  });
});
