import { afterEach, describe, expect, it, vi } from 'vitest';
import { useBench } from '../testing/support/bench.js';
import { operations } from './drivers/operations.js';
import { MemoryProgram } from './support/compiler.js';
import { DrivenDocument } from './support/driven-document.js';
import { isFault, isWholeProgram, toModule } from './support/excerpts.js';
import { codeBlocks, inBackticks, readDocument, section } from './support/markdown.js';
import { readSource, stringsOf } from './support/source.js';

const PATH = 'docs/operations.md';
const text = readDocument(PATH);
const runbook = new DrivenDocument(PATH);

useBench();

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

operations(runbook);

describe('docs/operations.md', () => {
  it('has a driver for each block, and a block for each driver', () => {
    expect(runbook.drivers).toEqual(runbook.blocks);
    expect(new Set(codeBlocks(text).map(({ language }) => language))).toEqual(new Set(['ts']));
  });

  it('has code that compiles as printed', () => {
    const blocks = codeBlocks(text).map((block) => ({ ...block, file: `operations-${block.line}.ts` }));
    const program = new MemoryProgram(
      'test/docs',
      new Map(blocks.map((block) => [block.file, isWholeProgram(block) ? block.code : toModule(block)])),
    );
    expect(blocks.flatMap(({ file }) => program.problems(file)).filter(isFault)).toEqual([]);
  }, 120_000);

  it('says of each alert what it means, what to look at and what to do', () => {
    const alerts = text.match(/^## DelayQueue\w+$/gm) ?? [];
    expect(alerts.length).toBeGreaterThan(5);
    for (const alert of alerts) {
      const part = section(text, alert.slice(3));
      expect([alert, ...(part.match(/^\*\*(Means|Look|Do)/gm) ?? [])]).toEqual([alert, '**Means', '**Look', '**Do']);
    }
  });

  it('names every reason why a message is dead', () => {
    const [, reasons = ''] = /type FailureReason =([^;]*);/.exec(readSource('lib/message/failure.ts')) ?? [];
    const named = inBackticks(section(text, 'DelayQueueDeadLetters'));
    for (const [, reason = ''] of reasons.matchAll(/'(\w+)'/g)) expect(named).toContain(reason);
  });

  it('names only what the log, the options and the metrics have', () => {
    expect(readSource('lib/consumer/consumption-log.ts')).toContain('Heartbeats in');
    expect(readSource('lib/delay-queue.scheduler.ts')).toContain("handles topic '");
    for (const option of ['publishTimeout', 'consumer', 'prefix']) {
      expect(inBackticks(text).join(' ')).toContain(option);
      expect(stringsOf('lib/options/resolve-options.ts', 'MODULE_OPTIONS')).toContain(option);
    }
  });
});
