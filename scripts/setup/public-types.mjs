import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import ts from 'typescript';

import { ROOT } from './run.mjs';

const ENTRIES = readdirSync(join(ROOT, 'lib'), { recursive: true })
  .filter((path) => basename(path) === 'index.ts')
  .map((path) => join('lib', path));

/** What the compiler knows of the types that files export. */
export class PublicTypes {
  checker;
  #program;

  /** @param paths those of all entries, if it is left out */
  constructor(paths = ENTRIES) {
    const files = paths.map((path) => join(ROOT, path));
    const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
    const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files }, ts.sys, ROOT);
    this.#program = ts.createProgram(files, { ...options, noEmit: true });
    this.checker = this.#program.getTypeChecker();
  }

  source(path) {
    return this.#program.getSourceFile(join(ROOT, path));
  }

  /** Symbols by the names that a file exports them under. */
  exportsOf(path) {
    const symbols = this.checker.getExportsOfModule(this.checker.getSymbolAtLocation(this.source(path)));
    return new Map(symbols.map((symbol) => [symbol.name, this.declared(symbol)]));
  }

  /** What an entry exports under a name. */
  exported(name) {
    for (const path of ENTRIES) {
      const symbol = this.exportsOf(path).get(name);
      if (symbol) return symbol;
    }
    throw new Error(`No entry of the library exports ${name}.`);
  }

  /** What a symbol stands for that is only passed on. */
  declared(symbol) {
    return symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol;
  }
}

/** What TSDoc says, in Markdown: its paragraphs, and its tags. */
export function tsdocOf(declaration) {
  const comments = ts.getJSDocCommentsAndTags(declaration).filter(ts.isJSDoc);
  const tags = comments.flatMap(({ tags: own = [] }) => own);
  return {
    paragraphs: comments.flatMap(({ comment }) => markdown(comment).split(/\n\s*\n/)).map(inOneLine),
    tag: (name) =>
      tags.filter(({ tagName }) => tagName.text === name).map(({ comment }) => inOneLine(markdown(comment))),
    // The compiler takes the beginning of a path for a name.
    see: tags.flatMap((tag) => /^@see (\S+)/.exec(tag.getText())?.[1] ?? []),
  };
}

function markdown(comment) {
  return (ts.getTextOfJSDocComment(comment) ?? '').replaceAll(/\{@link ([\w.]+) ?\}/g, '`$1`');
}

function inOneLine(text) {
  return text.replaceAll(/\s+/g, ' ').trim();
}
