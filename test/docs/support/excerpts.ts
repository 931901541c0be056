import * as nestCommon from '@nestjs/common';
import * as nestCore from '@nestjs/core';
import * as api from 'nestjs-delay-queue';
import * as testingApi from 'nestjs-delay-queue/testing';
import type { CodeBlock } from './markdown.js';
import { exportsOf } from './source.js';

/**
 * The convention of the README: a TypeScript block that begins with its file name in a comment (`// main.ts`) is a whole
 * program. All others are excerpts: they take for granted what they name of the library, of Nest and of ioredis, and what is
 * in `excerpt-context.ts`.
 */
export function isWholeProgram({ code }: CodeBlock): boolean {
  return /^\/\/ [\w.-]+\.ts\n/.test(code);
}

/** What an excerpt may name without an import, by module; the first that has a name gives it. */
const GRANTED: ReadonlyMap<string, readonly string[]> = new Map([
  ['./support/excerpt-context.js', exportsOf('test/docs/support/excerpt-context.ts')],
  ['nestjs-delay-queue', exportsOf('lib/index.ts')],
  ['nestjs-delay-queue/testing', exportsOf('lib/testing/index.ts')],
  ['ioredis', ['Redis']],
  ['vitest', ['expect', 'vi']],
  ['@nestjs/testing', ['Test']],
  [
    '@nestjs/common',
    [...Object.keys(nestCommon), 'ArgumentsHost', 'CanActivate', 'ExecutionContext', 'ExceptionFilter'],
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

/** An excerpt with what it needs around it, so that it can be compiled. */
export function toModule({ code }: CodeBlock): string {
  const isMember = code.startsWith('@DelayedHandler(');
  return `${importsOf(code)}\n${isMember ? `export class Excerpt {\n${code}\n}` : `${code}\nexport {};`}\n`;
}

export function isFault(problem: string): boolean {
  return !UNUSED.test(problem);
}

function importsOf(code: string): string {
  const declared = Array.from(code.matchAll(/(?:class|const|import \{?) ?(\w+)/g), ([, name = '']) => name);
  const words = new Set(code.match(/\b[A-Za-z]\w*\b/g));
  const lines: string[] = [];
  for (const [module, names] of GRANTED) {
    const used = names.filter((name) => words.has(name) && !declared.includes(name));
    for (const name of used) words.delete(name);
    const isContext = module.startsWith('.');
    const imported = used.map((name) => (isContext || VALUES.has(name) ? name : `type ${name}`));
    if (used.length > 0) lines.push(`import { ${imported.join(', ')} } from '${module}';`);
  }
  return lines.join('\n');
}
