import { afterAll, describe } from 'vitest';
import { type CodeBlock, codeBlocks, readDocument } from './markdown.js';
import { type Context, type Declared, runBlock } from './run-block.js';

/** Runs the block that a driver is for, and resolves with what it declares. */
export type Run = (context?: Context) => Promise<Declared>;

/** A document whose TypeScript blocks have a driver each: tests that run the block and see what it does. */
export class DrivenDocument {
  readonly #blocks: ReadonlyMap<string, CodeBlock>;
  readonly #drivers: string[] = [];

  constructor(path: string) {
    this.#blocks = byName(codeBlocks(readDocument(path)).filter(({ language }) => language === 'ts'));
  }

  /** Names of the blocks: the heading that a block stands under, and its number there, as in `Batches #2`. */
  get blocks(): string[] {
    return [...this.#blocks.keys()];
  }

  /** Names of the blocks that there are drivers for. */
  get drivers(): readonly string[] {
    return this.#drivers;
  }

  /**
   * To be called while tests are collected.
   *
   * @param tests calls `it()`, like the function that `describe()` takes
   */
  drive(name: string, tests: (run: Run) => void | Promise<void>): void {
    this.#drivers.push(name);
    const block = this.#blocks.get(name);
    if (!block) return;
    describe(`${name}, run as printed,`, async () => {
      let isRun = false;
      afterAll(() => {
        if (!isRun) throw new Error(`The driver of ${name} does not run it.`);
      });
      await tests(async (context = {}) => {
        isRun = true;
        return runBlock(block, context);
      });
    });
  }
}

function byName(blocks: readonly CodeBlock[]): Map<string, CodeBlock> {
  const counts = new Map<string, number>();
  return new Map(
    blocks.map((block) => {
      const number = (counts.get(block.heading) ?? 0) + 1;
      counts.set(block.heading, number);
      return [`${block.heading} #${number}`, block];
    }),
  );
}
