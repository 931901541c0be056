import { beforeAll, describe, expect, it } from 'vitest';
import { MemoryProgram } from '../support/docs/compiler.js';
import { fileNameOf, isFault, isWholeProgram, toModule } from '../support/docs/excerpts.js';
import { codeBlocks, DOCUMENTS, readDocument } from '../support/docs/markdown.js';

const blocks = DOCUMENTS.flatMap((path) => {
  const folder = path.replaceAll('/', '-');
  const found = codeBlocks(readDocument(path)).filter(({ language }) => language === 'ts');
  // Programs that import each other lie beside each other.
  return found.map((block) => {
    const name = fileNameOf(block);
    const isAlone = found.filter((other) => fileNameOf(other) === name).length > 1;
    return { ...block, path, file: name && !isAlone ? `${folder}/${name}` : `${folder}-${block.line}.ts` };
  });
});
const programs = blocks.filter(isWholeProgram);
const excerpts = blocks.filter((block) => !isWholeProgram(block));

/** Code that must not compile, and what the compiler has to find in it. */
const wrong = [
  { code: "await producer.publish('t', 1, { dealy: 1 });", finding: 'dealy', file: 'wrong-option.ts' },
  // The map of 'Typed topics' has its type; all that is compiled here shares it.
  { code: "await producer.publish('order.timeout', { order: '42' });", finding: 'orderId', file: 'wrong-payload.ts' },
];

describe('the code of the documents', () => {
  let compiled: MemoryProgram;

  beforeAll(() => {
    compiled = new MemoryProgram(
      'test/docs',
      new Map([
        ...programs.map(({ file, code }) => [file, code] as const),
        ...[...excerpts, ...wrong].map((block) => [block.file, toModule(block)] as const),
      ]),
    );
    // The checker is slow for the first file only.
    compiled.problems(wrong[0]?.file ?? '');
  }, 120_000);

  it('has whole programs, and excerpts', () => {
    expect(programs.map(({ heading }) => heading)).toEqual([
      'Quick start',
      'Administration',
      'The service',
      'The handler',
      'The module',
      'The test',
      'Before',
      'After',
      'Before you start',
      'Doctor',
      'Testing',
    ]);
    expect(excerpts.length).toBeGreaterThan(40);
  });

  it.each(programs)('compiles as printed under strict settings: the program in line $line of $path', ({ file }) => {
    expect(compiled.problems(file)).toEqual([]);
  });

  it.each(excerpts)('compiles with what it takes for granted: the excerpt in line $line of $path', ({ file }) => {
    expect(compiled.problems(file).filter(isFault)).toEqual([]);
  });

  it.each(wrong)('is told apart from code that does not compile: $code', ({ file, finding }) => {
    expect(compiled.problems(file).filter(isFault).join()).toContain(finding);
  });
});
