import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';
import type { Machine } from './report.js';

/** The measured packages and those that they use. */
const PACKAGES = ['bullmq', 'bee-queue', 'ioredis', '@nestjs/core'];

/** @param redis its name and version */
export function describeMachine(redis: string): Machine {
  const commit = currentCommit();
  const versions = PACKAGES.map((name) => [name, versionIn(`node_modules/${name}`)] as const);
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown processor',
    memory: Math.round(totalmem() / 1024 ** 3),
    system: `${type()} ${release()} ${arch()}`,
    node: process.version,
    redis,
    packages: { 'nestjs-delay-queue': versionIn('.'), ...Object.fromEntries(versions) },
    ...(commit === undefined ? {} : { commit }),
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

function versionIn(folder: string): string {
  return (JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { version: string }).version;
}

function currentCommit(): string | undefined {
  const { status, stdout } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
