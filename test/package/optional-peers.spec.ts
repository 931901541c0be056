import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { packLibrary } from '../support/package/packed-library.js';
import { readJson } from '../support/package/read-json.js';
import { runProgram } from '../support/package/run-program.js';

/** The entries that need an optional peer. */
const ENTRIES = [
  { entry: 'opentelemetry', peer: '@opentelemetry/api' },
  { entry: 'prometheus', peer: 'prom-client' },
  { entry: 'terminus', peer: '@nestjs/terminus' },
] as const;

const APPLICATION = `
  import 'reflect-metadata';
  import { NestFactory } from '@nestjs/core';
  import { DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';

  const { REDIS_URL: redis, PREFIX: prefix } = process.env;
  const root = DelayQueueModule.forRoot({ redis, prefix, topics: { jobs: { partitions: 1 } } });
  const app = await NestFactory.createApplicationContext(root, { logger: ['error'] });
  const { id } = await app.get(DelayQueueProducer).publish('jobs', 1, { id: 'a', delay: '1h' });
  console.log('published', id, await app.get(DelayQueueProducer).cancel('jobs', 'a'));
  await app.close();
`;

describe('the packed library without any optional peer', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await installWithoutOptionalPeers();
  });

  async function run(code: string): Promise<string> {
    const program = join(folder, `${randomUUID()}.mjs`);
    await writeFile(program, code);
    const env = { ...process.env, REDIS_URL: inject('redisUrl'), PREFIX: `smoke-${randomUUID()}` };
    return runProgram(process.execPath, [program], { cwd: folder, env, timeout: 120_000 });
  }

  it('boots, and publishes', async () => {
    expect(await run(APPLICATION)).toBe('published a cancelled');
  });

  it.each(ENTRIES)('fails to load its entry $entry, and names what is missing', async ({ entry, peer }) => {
    const output = await run(
      `import('nestjs-delay-queue/${entry}').catch(({ code, message }) => console.log(code, message));`,
    );

    expect(output).toContain(`ERR_MODULE_NOT_FOUND Cannot find package '${peer}'`);
    expect(output).toContain(`nestjs-delay-queue/dist/esm/${entry}/index.js`);
  });

  it('has its optional peers in the manifest', async () => {
    const manifest =
      await readJson<Record<'peerDependencies' | 'peerDependenciesMeta', Record<string, unknown>>>('package.json');
    for (const { peer } of ENTRIES) {
      expect(Object.keys(manifest.peerDependencies)).toContain(peer);
      expect(manifest.peerDependenciesMeta[peer]).toEqual({ optional: true });
    }
  });
});

/** The packed library, beside its dependencies and the peers that it cannot do without. */
async function installWithoutOptionalPeers(): Promise<string> {
  const { tarball } = await packLibrary();
  const folder = await mkdtemp(join(inject('runFolder'), 'without-peers-'));
  const modules = join(folder, 'node_modules');
  await mkdir(modules);
  await runProgram('tar', ['-xzf', tarball], { cwd: folder });
  await cp(join(folder, 'package'), join(modules, 'nestjs-delay-queue'), { recursive: true });
  const { dependencies, peerDependencies, peerDependenciesMeta } =
    await readJson<Record<'dependencies' | 'peerDependencies' | 'peerDependenciesMeta', Record<string, unknown>>>(
      'package.json',
    );
  const names = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !(name in peerDependenciesMeta));
  for (const name of names) {
    await mkdir(join(modules, name, '..'), { recursive: true });
    await symlink(resolve('node_modules', name), join(modules, name));
  }
  return folder;
}
