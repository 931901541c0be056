import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { codeBlocks, readDocument } from '../../support/docs/markdown.js';
import { onceARun } from '../../support/package/once-a-run.js';
import { packLibrary } from '../../support/package/packed-library.js';
import { runProgram } from '../../support/package/run-program.js';
import { BEFORE, npmInstall } from '../../support/package/npm-install.js';

/** The starters of `nest new`, by the major of its CLI. */
const STARTERS = [
  { nest: 11, runner: 'jest' },
  { nest: 12, runner: 'vitest' },
] as const;

const service = blockOf('README.md', '// main.ts');
const serviceTest = blockOf('docs/reference/testing.md', '// order.service.spec.ts');

/** Returns a result of the library, so that declarations have to name its type. */
const CANCELLER = `
import { Injectable } from '@nestjs/common';
import { DelayQueueProducer } from 'nestjs-delay-queue';

@Injectable()
export class Canceller {
  constructor(private readonly producer: DelayQueueProducer) {}

  async cancel(orderId: string) {
    return this.producer.cancel('order.timeout', orderId);
  }
}
`;

describe.each(STARTERS)('an application made by nest new of version $nest', ({ nest, runner }) => {
  let folder: string;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    const outer = Object.entries(process.env).filter(([name]) => !/^(TEST|VITEST|NODE_ENV)/.test(name));
    env = { ...Object.fromEntries(outer), REDIS_URL: inject('redisUrl') };
    folder = join(await create(nest), 'app');
    await edit('src/app.module.ts', (code) =>
      `import { DelayQueueModule } from 'nestjs-delay-queue';\n${code}`.replace(
        'imports: []',
        `imports: [DelayQueueModule.forRoot({ redis: process.env.REDIS_URL, prefix: 'starter-${nest}' })]`,
      ),
    );
    // Jest has these as globals, as the document says.
    const test = runner === 'jest' ? serviceTest.replace(/^import .* from 'vitest';\n/m, '') : serviceTest;
    await writeFile(join(folder, 'src/order.service.spec.ts'), test);
    await writeFile(join(folder, 'src/canceller.ts'), CANCELLER);
    await writeFile(join(folder, 'src/shop.ts'), service);
  });

  async function edit(file: string, change: (code: string) => string): Promise<void> {
    const path = join(folder, file);
    await writeFile(path, change(await readFile(path, 'utf8')));
  }

  async function npm(...args: string[]): Promise<string> {
    return runProgram('npm', args, { cwd: folder, env, timeout: 120_000 });
  }

  it(`is tested by ${runner}, with its set-up unchanged`, async () => {
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { scripts: { test: string } };
    expect(manifest.scripts.test).toMatch(new RegExp(`^${runner}\\b`));

    const report = await npm('test', '--', runner === 'jest' ? '--json' : '--reporter=json');
    // The test of the document and the one that came along.
    expect(report).toContain('closes an order after 30 minutes');
    expect(report).toContain('"numPassedTests":2');
  });

  it('passes the end-to-end test of the starter with the module imported', async () => {
    const options = runner === 'jest' ? '--json' : '--reporter=json';
    expect(await npm('run', 'test:e2e', '--', options)).toContain('"numPassedTests":1');
  });

  it('compiles with declarations, and runs the service of the README', async () => {
    await npm('run', 'build');

    const declarations = await readFile(join(folder, 'dist/canceller.d.ts'), 'utf8');
    expect(declarations).toContain('CancelResult');
    expect(await linesOf('dist/shop.js')).toEqual([
      expect.stringMatching(/^Order 42 has to be paid by /),
      'Order 42 was not paid in time',
    ]);
  });

  /** What the service tells until its order has timed out. */
  async function linesOf(program: string): Promise<string[]> {
    const child = spawn(process.execPath, [program], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(' in time')) child.kill('SIGTERM');
    });
    await once(child, 'close');
    return output.split('\n').filter((line) => line.startsWith('Order '));
  }
});

/** @returns the folder that has the application `app` */
async function create(nest: number): Promise<string> {
  const { tarball } = await packLibrary();
  return onceARun(`nest-new-${nest}`, async (target) => {
    const options = ['--package-manager', 'npm', '--skip-git', '--skip-install'];
    await runProgram('npx', [BEFORE, '--yes', `@nestjs/cli@${nest}`, 'new', 'app', ...options], { cwd: target });
    // The command of the README, but for where the package comes from.
    const [npm, verb, ...packages] = blockOf('README.md', 'npm install').split(' ');
    expect([npm, verb, packages]).toEqual(['npm', 'install', expect.arrayContaining(['nestjs-delay-queue'])]);
    await npmInstall(join(target, 'app'), ...packages.map((one) => (one === 'nestjs-delay-queue' ? tarball : one)));
  });
}

function blockOf(path: string, firstLine: string): string {
  const block = codeBlocks(readDocument(path)).find(({ code }) => code.startsWith(firstLine));
  if (!block) throw new Error(`${path} has no block that begins with '${firstLine}'.`);
  return block.code;
}
