import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);

/** A file, an import that its layer must not have, and a word of the rule's message. */
const VIOLATIONS = [
  ['lib/message/planted.ts', '../broker/broker.interface.js', 'ground'],
  ['lib/errors/planted.ts', '../delay-queue.constants.js', 'ground'],
  ['lib/common/planted.ts', 'rxjs', 'restricted'],
  ['lib/events/planted.ts', '@nestjs/common', 'Nest'],
  ['lib/broker/planted.ts', './redis/redis.broker.js', 'adapter'],
  ['lib/broker/memory/planted.ts', '../../topics/topic.registry.js', 'broker'],
  ['lib/broker/redis/planted.ts', '../../consumer/settler.js', 'broker'],
  ['lib/broker/memory/planted.ts', 'ioredis', 'ioredis'],
  ['lib/consumer/planted.ts', '../broker/redis/redis.broker.js', 'port'],
  ['lib/consumer/planted.ts', '../producer/publish-lane.js', 'each other'],
  ['lib/producer/planted.ts', '../consumer/settler.js', 'each other'],
  ['lib/producer/planted.ts', 'ioredis', 'ioredis'],
  ['lib/topics/planted.ts', '@nestjs/common', 'Nest'],
  ['lib/events/planted.ts', '../fleet-events/fleet-reader.js', 'ground'],
  ['lib/fleet-events/planted.ts', 'ioredis', 'ioredis'],
  ['lib/dead-letters/planted.ts', '../broker/redis/redis.broker.js', 'port'],
  ['lib/message/planted.ts', '../dead-letters/pace.js', 'ground'],
  ['lib/topics/planted.ts', '../options/resolve-options.js', 'runtime'],
  ['lib/discovery/planted.ts', '@nestjs/core/injector/injector.js', 'internals'],
  ['lib/decorators/planted.ts', '../index.js', 'barrel'],
  ['lib/planted.ts', './testing/index.js', 'testing kit'],
  ['lib/options/planted.ts', '../testing/testing-options.js', 'testing kit'],
  ['lib/common/planted.ts', '../testing/real-time.js', 'ground'],
  ['lib/broker/memory/planted.ts', '../../testing/activity.js', 'broker'],
  ['lib/consumer/planted.ts', '../testing/activity.js', 'each other'],
  ['lib/consumer/planted.ts', '../opentelemetry/tracing.js', 'each other'],
  ['lib/message/planted.ts', '../opentelemetry/tracing.js', 'ground'],
  ['lib/planted.ts', './opentelemetry/index.js', 'optional entries'],
  ['lib/options/planted.ts', '@opentelemetry/api', 'OpenTelemetry'],
  ['lib/opentelemetry/planted.ts', '@nestjs/common', 'Nest'],
  ['lib/opentelemetry/planted.ts', '../index.js', 'barrel'],
  ['lib/planted.ts', './terminus/index.js', 'terminus'],
  ['lib/planted.ts', '@nestjs/terminus', 'Optional'],
  ['lib/terminus/planted.ts', '../index.js', 'for users'],
  ['lib/health/planted.ts', '@nestjs/common', 'Nest'],
  ['lib/health/planted.ts', '../options/resolve-options.js', 'runtime'],
  ['lib/consumer/planted.ts', '../health/delay-queue.health.js', 'each other'],
  ['lib/testing/planted.ts', '@nestjs/testing', 'test runner'],
  ['lib/testing/planted.ts', 'vitest', 'test runner'],
  ['lib/testing/planted.ts', '@nestjs/core/injector/injector.js', 'internals'],
  ['lib/testing/planted.ts', '../index.js', 'barrel'],
  ['lib/metrics/planted.ts', '@nestjs/common', 'Nest'],
  ['lib/metrics/planted.ts', '../delay-queue.events.js', 'runtime'],
  ['lib/message/planted.ts', '../metrics/metrics-reader.js', 'ground'],
  ['lib/options/planted.ts', '../prometheus/prometheus-metrics.js', 'optional'],
  ['lib/options/planted.ts', 'prom-client', 'prom-client'],
  ['lib/prometheus/planted.ts', '@nestjs/common', 'Nest'],
] as const;

describe('the linter', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'delay-queue-layers-'));
    await copyFile('.oxlintrc.json', join(folder, '.oxlintrc.json'));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it.each(VIOLATIONS)('refuses that %s imports %s', async (file, specifier, word) => {
    expect(await lint(folder, file, specifier)).toContain(word);
  });

  it('accepts an import that points down', async () => {
    expect(await lint(folder, 'lib/consumer/planted.ts', '../message/failure.js')).not.toContain(
      'no-restricted-imports',
    );
  });
});

/** What the linter says of a file with this one import. */
async function lint(folder: string, file: string, specifier: string): Promise<string> {
  const path = join(folder, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `import { planted } from '${specifier}';\n\nexport const used = planted;\n`);
  const oxlint = resolve('node_modules/.bin/oxlint');
  const { stdout } = await run(oxlint, [file], { cwd: folder }).catch((error: { stdout: string }) => error);
  await rm(path);
  return stdout;
}
