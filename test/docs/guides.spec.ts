import { basename } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { administration } from './drivers/administration.js';
import { deadLetters } from './drivers/dead-letters.js';
import { fleetEvents } from './drivers/fleet-events.js';
import { healthCheck } from './drivers/health-check.js';
import { MemoryProgram } from './support/compiler.js';
import { DrivenDocument } from './support/driven-document.js';
import { isFault, isWholeProgram, toModule } from './support/excerpts.js';
import { type CodeBlock, codeBlocks, readDocument } from './support/markdown.js';

/** Documents whose code is run on a real Redis, each with what drives it. */
const GUIDES = [
  { path: 'docs/administration.md', drive: administration },
  { path: 'docs/dead-letters.md', drive: deadLetters },
  { path: 'docs/events.md', drive: fleetEvents },
  { path: 'docs/health.md', drive: healthCheck },
];

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe.each(GUIDES)('$path', ({ path, drive }) => {
  const document = new DrivenDocument(path);

  drive(document);

  it('has a driver for each block, and a block for each driver', () => {
    expect(document.drivers).toEqual(document.blocks);
    // No code is left out for its language.
    expect(codeBlocks(readDocument(path))).toEqual(blocksOf(path));
  });
});

describe('the code of the documents', () => {
  it('compiles as printed', () => {
    const files = [...GUIDES.map(({ path }) => path), 'docs/tracing.md'].flatMap((path) =>
      blocksOf(path).map((block) => ({ name: `${basename(path)}-${block.line}.ts`, block })),
    );
    const program = new MemoryProgram(
      'test/docs',
      new Map(files.map(({ name, block }) => [name, isWholeProgram(block) ? block.code : toModule(block)])),
    );
    const faults = files.flatMap(({ name }) =>
      program
        .problems(name)
        .filter(isFault)
        .map((fault) => [name, fault]),
    );
    expect(faults).toEqual([]);
  }, 120_000);
});

function blocksOf(path: string): CodeBlock[] {
  return codeBlocks(readDocument(path)).filter(({ language }) => language === 'ts');
}
