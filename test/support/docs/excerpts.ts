import * as nestCommon from '@nestjs/common';
import * as nestCore from '@nestjs/core';
import * as api from 'nestjs-delay-queue';
import * as testingApi from 'nestjs-delay-queue/testing';
import type { CodeBlock } from './markdown.js';
import { declaredIn, exportsOf } from './source.js';

/**
 * The convention of the documents: a TypeScript block that begins with its file name in a comment (`// main.ts`) is a whole
 * program. All others are excerpts: they take for granted what they name of the library, of Nest and of ioredis, and what is
 * in `excerpt-context.ts`.
 */
export function isWholeProgram(block: CodeBlock): boolean {
  return fileNameOf(block) !== undefined;
}

/** The name of the file that a whole program is. Programs of a document may import each other by these. */
export function fileNameOf({ code }: CodeBlock): string | undefined {
  return /^\/\/ ([\w.-]+\.ts)\n/.exec(code)?.[1];
}

/** The whole program of a document that another one imports. */
export function importedProgram<B extends CodeBlock>(blocks: Iterable<B>, specifier: string): B | undefined {
  const file = specifier.replace(/^\.\//, '').replace(/\.js$/, '.ts');
  return [...blocks].find((block) => fileNameOf(block) === file);
}

/** The module of what the documents have introduced, or leave to their reader: `producer`, `AppModule`. */
export const CONTEXT = '../support/docs/excerpt-context.js';

/** What an excerpt may name without an import, by module; the first that has a name gives it. */
const GRANTED: ReadonlyMap<string, readonly string[]> = new Map([
  [CONTEXT, exportsOf('test/support/docs/excerpt-context.ts')],
  ['nestjs-delay-queue', exportsOf('lib/index.ts')],
  ['nestjs-delay-queue/admin', exportsOf('lib/admin/index.ts')],
  ['nestjs-delay-queue/testing', exportsOf('lib/testing/index.ts')],
  ['ioredis', ['Redis']],
  ['vitest', ['expect', 'vi']],
  ['@nestjs/testing', ['Test']],
  [
    '@nestjs/common',
    [
      ...Object.keys(nestCommon),
      'ArgumentsHost',
      'CallHandler',
      'CanActivate',
      'ExecutionContext',
      'ExceptionFilter',
      'NestInterceptor',
    ],
  ],
  ['@nestjs/core', Object.keys(nestCore)],
]);

/** All that is granted and is no type. */
const VALUES = new Set([
  ...Object.keys(api),
  ...Object.keys(nestCommon),
  ...Object.keys(nestCore),
  ...Object.keys(testingApi),
  'Redis',
  'expect',
  'vi',
  'Test',
]);

/** Imports and results that an excerpt does not use are none of its faults. */
const UNUSED = /: TS(6133|6192|6196|6198) /;

/**
 * An excerpt with what it needs around it, so that it can be compiled and run. It exports all that it declares; an excerpt
 * that is a method becomes one of a class `Excerpt`.
 */
export function toModule({ code }: Pick<CodeBlock, 'code'>): string {
  const isMember = /^@(?:Delayed|Recurring)Handler\(/.test(code);
  const printed = isMember ? `class Excerpt {\n${code}\n}` : code;
  return `${importsOf(printed)}\n${printed}\nexport { ${declaredIn(printed).join(', ')} };\n`;
}

export function isFault(problem: string): boolean {
  return !UNUSED.test(problem);
}

function importsOf(code: string): string {
  const imported = Array.from(code.matchAll(/^import \{(.*)\}/gm), ([, names = '']) => names.match(/\w+/g) ?? []);
  const own = new Set([...declaredIn(code), ...imported.flat()]);
  const words = new Set(code.match(/\b[A-Za-z]\w*\b/g));
  const lines: string[] = [];
  for (const [module, names] of GRANTED) {
    const used = names.filter((name) => words.has(name) && !own.has(name));
    for (const name of used) words.delete(name);
    const specifiers = used.map((name) => (module === CONTEXT || VALUES.has(name) ? name : `type ${name}`));
    if (used.length > 0) lines.push(`import { ${specifiers.join(', ')} } from '${module}';`);
  }
  return lines.join('\n');
}
