import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type CodeBlock, codeBlocks, readDocument } from './markdown.js';
import { type Context, type Declared, runBlock } from './run-block.js';

/** Runs the block that a driver is for, and resolves with what it declares. */
export type Run = (context?: Context) => Promise<Declared>;

/** Languages of blocks: only TypeScript is run, and no code is left out because it has another language. */
const LANGUAGES = ['sh', 'text', 'ts'];

/**
 * Drives every document of a folder. To be called while tests are collected.
 *
 * @param drivers what drives a document, by its file; a document without TypeScript needs none
 */
export function driveDocuments(
  folder: string,
  drivers: Readonly<Record<string, (document: DrivenDocument) => void>>,
): void {
  const files = readdirSync(folder);
  const unknown = Object.keys(drivers).filter((file) => !files.includes(file));
  if (unknown.length > 0) throw new Error(`${folder} has no ${unknown.join(', ')}.`);
  describe.each(files)(`${folder}/%s`, (file) => {
    const path = join(folder, file);
    const document = new DrivenDocument(path);
    drivers[file]?.(document);

    it('has a driver for each block, and a block for each driver; write or remove it in test/docs/drivers', () => {
      expect(document.drivers.toSorted()).toEqual(document.blocks.toSorted());
    });

    it('has TypeScript, commands and text', () => {
      const text = readDocument(path);
      const blocks = codeBlocks(text);
      expect(LANGUAGES).toEqual(expect.arrayContaining(blocks.map(({ language }) => language)));
      expect(text.match(/```/g) ?? []).toHaveLength(2 * blocks.length);
    });
  });
}

/** A document whose TypeScript blocks have a driver each: tests that run the block and see what it does. */
export class DrivenDocument {
  readonly #blocks: ReadonlyMap<string, CodeBlock>;
  readonly #drivers: string[] = [];

  constructor(path: string) {
    this.#blocks = blocksOf(path);
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
        return runBlock(block, context, [...this.#blocks.values()]);
      });
    });
  }
}

/** The TypeScript blocks of a document by their names, see {@link DrivenDocument.blocks}. */
export function blocksOf(path: string): ReadonlyMap<string, CodeBlock> {
  const counts = new Map<string, number>();
  return new Map(
    codeBlocks(readDocument(path))
      .filter(({ language }) => language === 'ts')
      .map((block) => {
        const number = (counts.get(block.heading) ?? 0) + 1;
        counts.set(block.heading, number);
        return [`${block.heading} #${number}`, block];
      }),
  );
}
