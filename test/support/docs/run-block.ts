import { runInThisContext } from 'node:vm';
import type { Type } from '@nestjs/common';
import { importedBy, toFunctionBody } from './compiler.js';
import type * as excerptContext from './excerpt-context.js';
import { CONTEXT, importedProgram, isWholeProgram, toModule } from './excerpts.js';
import type { CodeBlock } from './markdown.js';

/** What a block takes for granted, as far as it uses it. */
export type Context = Partial<typeof excerptContext>;

/** What a block declares, by name. */
export type Declared = Readonly<Record<string, unknown>>;

/**
 * Runs a block as printed, each time anew; the modules it imports are those that the test has.
 *
 * @param blocks of its document, of which it may import some
 */
export async function runBlock(
  block: CodeBlock,
  context: Context,
  blocks: readonly CodeBlock[] = [],
): Promise<Declared> {
  return new Run(context, blocks).declaredBy(block);
}

/** Programs that import each other are run once. */
class Run {
  readonly #done = new Map<CodeBlock, Promise<Declared>>();

  constructor(
    readonly context: Context,
    readonly blocks: readonly CodeBlock[],
  ) {}

  async declaredBy(block: CodeBlock): Promise<Declared> {
    let declared = this.#done.get(block);
    if (!declared) this.#done.set(block, (declared = this.#evaluate(block)));
    return declared;
  }

  async #evaluate(block: CodeBlock): Promise<Declared> {
    const code = isWholeProgram(block) ? block.code : toModule(block);
    const modules = new Map<string, unknown>([[CONTEXT, complainingOfGaps(this.context)]]);
    for (const name of importedBy(code)) {
      if (name !== CONTEXT) modules.set(name, await this.#imported(name));
    }
    const evaluate = runInThisContext(`(async (require, exports) => {${toFunctionBody(code)}\n})`, {
      filename: `${block.heading}, line ${block.line}`,
    }) as (require: (name: string) => unknown, exports: object) => Promise<void>;
    const declared = {};
    await evaluate((name) => modules.get(name), declared);
    return declared;
  }

  async #imported(name: string): Promise<unknown> {
    const program = importedProgram(this.blocks, name);
    return program ? this.declaredBy(program) : import(/* @vite-ignore */ name);
  }
}

/** @throws Error where the block declares no such class */
export function classIn<T = object>(declared: Declared, name: string): Type<T> {
  const found = declared[name];
  if (typeof found !== 'function') throw new Error(`There is no class ${name}, only ${Object.keys(declared).join()}.`);
  return found as Type<T>;
}

function complainingOfGaps(context: Context): Context {
  return new Proxy(context, {
    get(target, name, receiver): unknown {
      if (!Reflect.has(target, name))
        throw new Error(`The block takes '${String(name)}' for granted: give it to run().`);
      return Reflect.get(target, name, receiver);
    },
  });
}
