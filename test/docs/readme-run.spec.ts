import { afterEach, describe, expect, it, vi } from 'vitest';
import { useKitBed } from '../support/kit/kit-bed.js';
import { correlation } from './drivers/correlation.js';
import { handling } from './drivers/handling.js';
import { health } from './drivers/health.js';
import { looking } from './drivers/looking.js';
import { metrics } from './drivers/metrics.js';
import { moduleOptions } from './drivers/module-options.js';
import { pipeline } from './drivers/pipeline.js';
import { publishing } from './drivers/publishing.js';
import { testing } from './drivers/testing.js';
import { topics } from './drivers/topics.js';
import { tracing } from './drivers/tracing.js';
import { DrivenDocument } from './support/driven-document.js';
import { codeBlocks, readDocument } from './support/markdown.js';

// `readme.spec.ts` sees that the same code compiles, with the types that it has as printed.

/** A program that needs a process and a Redis of its own: `readme.spec.ts` runs it. */
const RUN_ELSEWHERE = 'Example #1';

const readme = new DrivenDocument('README.md');

useKitBed();

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

publishing(readme);
topics(readme);
handling(readme);
pipeline(readme);
correlation(readme);
moduleOptions(readme);
looking(readme);
tracing(readme);
health(readme);
metrics(readme);
testing(readme);

describe('the code of the README', () => {
  it('has a driver for each block, and a block for each driver; write or remove it in test/docs/drivers', () => {
    expect([...readme.drivers, RUN_ELSEWHERE].toSorted()).toEqual(readme.blocks.toSorted());
  });

  it('is TypeScript; all else are commands and output', () => {
    const text = readDocument('README.md');
    const blocks = codeBlocks(text);
    expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(['sh', 'text', 'ts']));
    expect(text.match(/```/g)).toHaveLength(2 * blocks.length);
  });
});
