import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { luaScripts } from './scripts/setup/lua-scripts.mjs';

const source = (path: string): string => new URL(path, import.meta.url).pathname;

/**
 * The ioredis that the library and its tests use in place of the installed one: what `IOREDIS` names, a package or the path of
 * one. The programs of `test/fleet` are processes of their own, and use the installed one.
 */
const given = process.env['IOREDIS'] || 'ioredis';
const ioredis = given.startsWith('.') || given.startsWith('/') ? resolve(given) : given;
const require = createRequire(import.meta.url);

/** What is only about clusters is left out with an ioredis that does not serve them. */
const { version } = require(`${ioredis}/package.json`) as { version: string };
const leftOut = Number.parseInt(version, 10) >= 6 ? [] : ['test/integration/*-cluster.spec.ts'];

const shared = {
  plugins: [luaScripts()],
  resolve: {
    alias: [
      ...(ioredis === 'ioredis' ? [] : [{ find: /^ioredis$/, replacement: require.resolve(ioredis) }]),
      { find: /^nestjs-delay-queue$/, replacement: source('./lib/index.ts') },
      { find: /^nestjs-delay-queue\/terminus$/, replacement: source('./lib/terminus/index.ts') },
      { find: /^nestjs-delay-queue\/testing$/, replacement: source('./lib/testing/index.ts') },
      { find: /^nestjs-delay-queue\/opentelemetry$/, replacement: source('./lib/opentelemetry/index.ts') },
      { find: /^nestjs-delay-queue\/prometheus$/, replacement: source('./lib/prometheus/index.ts') },
    ],
  },
};

const timeouts = { testTimeout: 20_000, hookTimeout: 20_000 };

export default defineConfig({
  test: {
    // Vitest would leave one of two cores idle.
    maxWorkers: 2,
    globalSetup: [
      'test/support/setup/run-folder.ts',
      'test/support/setup/shared-redis.ts',
      'test/support/setup/build-programs.mjs',
    ],
    projects: [
      {
        ...shared,
        test: {
          name: 'in-process',
          include: ['test/**/*.spec.ts', 'sample/**/*.spec.ts'],
          exclude: ['test/extended/**', 'test/fleet/**', 'test/package/**', ...leftOut],
          sequence: { groupOrder: 0 },
          // A test of leaks asks for a garbage collection.
          execArgv: ['--expose-gc'],
          ...timeouts,
        },
      },
      {
        // These measure time, so each has the machine to itself.
        ...shared,
        test: {
          name: 'processes',
          include: ['test/{fleet,package}/**/*.spec.ts'],
          fileParallelism: false,
          maxConcurrency: 3,
          sequence: { groupOrder: 1 },
          ...timeouts,
        },
      },
      {
        // What `npm test` leaves to `npm run test:extended`: it takes minutes, or depends on what others publish today.
        ...shared,
        test: {
          name: 'extended',
          include: ['test/extended/**/*.spec.ts'],
          fileParallelism: false,
          maxConcurrency: 3,
          sequence: { groupOrder: 2 },
          ...timeouts,
        },
      },
    ],
  },
});
