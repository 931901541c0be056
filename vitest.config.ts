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
      { find: /^nestjs-delay-queue\/dashboard$/, replacement: source('./lib/dashboard/index.ts') },
      { find: /^nestjs-delay-queue\/gateway$/, replacement: source('./lib/gateway/index.ts') },
      { find: /^nestjs-delay-queue\/terminus$/, replacement: source('./lib/terminus/index.ts') },
      { find: /^nestjs-delay-queue\/testing$/, replacement: source('./lib/testing/index.ts') },
      { find: /^nestjs-delay-queue\/opentelemetry$/, replacement: source('./lib/opentelemetry/index.ts') },
      { find: /^nestjs-delay-queue\/prometheus$/, replacement: source('./lib/prometheus/index.ts') },
    ],
  },
};

/** What changes something that all of a process shares, such as `fetch`, the clock or a module of Node. */
const ALONE = [
  'test/docs/**/*.spec.ts',
  'test/unit/outbound/{public-lookup,push-handler}.spec.ts',
  'test/unit/time/clock.spec.ts',
];

/** Of the longer tests, those that may run two at a time: they use one processor each, and measure no time that is short. */
const SIDE_BY_SIDE = [
  'test/extended/packages/**/*.spec.ts',
  'test/extended/command-line*.spec.ts',
  'test/extended/dashboard/pictures.spec.ts',
  'test/extended/secrets.spec.ts',
];

/** Of the longer tests, those that mostly wait, for leases, sessions and servers, so that several fit into one processor. */
const WAITING = [
  'test/extended/{at-most-once,cluster-clocks,cluster-nodes,crashes,limits-waiting,process-end,redis-outages}.spec.ts',
  'test/extended/{replicas-cluster,replicated-kills,schedules,shutdown-hooks,tags}.spec.ts',
  'test/extended/gateway/processes.spec.ts',
];

/** What is measured with millions of messages, and has bounds that only a quiet host keeps: `npm run test:scale`. */
const SCALE = ['test/extended/**/scale/*.spec.ts'];

/** They only say when a test gives up: Vitest's own, one second for a poll, is a bound that a busy host misses. */
const timeouts = { testTimeout: 20_000, hookTimeout: 20_000, expect: { poll: { timeout: 10_000 } } };

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
          exclude: ['test/extended/**', 'test/fleet/**', 'test/package/**', ...ALONE, ...leftOut],
          sequence: { groupOrder: 0 },
          // A worker loads Nest and the library once, and not again for each file: that took longer than a third of the tests.
          isolate: false,
          setupFiles: ['test/support/setup/leaves-no-trace.ts'],
          // A test of leaks asks for a garbage collection.
          execArgv: ['--expose-gc'],
          ...timeouts,
        },
      },
      {
        ...shared,
        test: { name: 'in-process, alone', include: ALONE, sequence: { groupOrder: 0 }, ...timeouts },
      },
      {
        ...shared,
        test: {
          name: 'packages',
          include: ['test/package/**/*.spec.ts'],
          maxConcurrency: 2,
          sequence: { groupOrder: 0 },
          ...timeouts,
        },
      },
      {
        // These measure time, so each has the machine to itself.
        ...shared,
        test: {
          name: 'processes',
          include: ['test/fleet/**/*.spec.ts'],
          fileParallelism: false,
          maxConcurrency: 3,
          sequence: { groupOrder: 1 },
          ...timeouts,
        },
      },
      // What `npm test` leaves to `npm run test:extended`: it takes minutes, or depends on what others publish today.
      {
        ...shared,
        test: {
          name: 'extended, side by side',
          include: SIDE_BY_SIDE,
          sequence: { groupOrder: 2 },
          ...timeouts,
        },
      },
      {
        ...shared,
        test: {
          name: 'extended, waiting',
          include: WAITING,
          maxWorkers: 4,
          sequence: { groupOrder: 3 },
          ...timeouts,
        },
      },
      {
        ...shared,
        test: {
          name: 'extended',
          include: ['test/extended/**/*.spec.ts'],
          exclude: [...SIDE_BY_SIDE, ...WAITING, ...SCALE],
          fileParallelism: false,
          maxConcurrency: 3,
          sequence: { groupOrder: 4 },
          ...timeouts,
        },
      },
      {
        ...shared,
        test: { name: 'scale', include: SCALE, fileParallelism: false, sequence: { groupOrder: 5 }, ...timeouts },
      },
    ],
  },
});
