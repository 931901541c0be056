import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { installOnNest12 } from '../support/package/installations.js';
import { runProgram } from '../support/package/run-program.js';

const RUNS = 15;

/**
 * How long the import may take on top of Nest: in milliseconds on an idle machine, and as a share of Nest's import on others. The share is
 * that of a machine on which Nest takes 200 ms.
 */
const LIMIT = 40;
const SHARE = LIMIT / 200;

/** Times both imports in one process, so that conditions are the same. */
const PROGRAM = `
const begin = performance.now();
await import('reflect-metadata');
await import('@nestjs/common');
await import('@nestjs/core');
const between = performance.now();
await import('nestjs-delay-queue');
console.log(JSON.stringify([between - begin, performance.now() - between]));
`;

it('takes little time to import on top of Nest', async () => {
  const folder = await installOnNest12();
  await writeFile(join(folder, 'import.mjs'), PROGRAM);
  const nest: number[] = [];
  const library: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const [ofNest, ofLibrary] = JSON.parse(await runProgram(process.execPath, ['import.mjs'], { cwd: folder })) as [
      number,
      number,
    ];
    nest.push(ofNest);
    library.push(ofLibrary);
  }
  console.log(`import: Nest ${median(nest).toFixed(0)} ms, the library ${median(library).toFixed(0)} ms on top of it`);

  // A busy machine takes longer for both.
  expect(median(library)).toBeLessThan(Math.max(LIMIT, SHARE * median(nest)));
}, 120_000);

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
