import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { type TestProjectInlineConfiguration, defineConfig } from 'vitest/config';
import { keepTestEnvironment } from './scripts/setup/environment.mjs';
import { luaScripts } from './scripts/setup/lua-scripts.mjs';

keepTestEnvironment();

const require = createRequire(import.meta.url);
const source = (path: string): string => new URL(path, import.meta.url).pathname;

/** The library by its name, from its sources. */
const ENTRIES = [
  { find: /^nestjs-delay-queue$/, replacement: source('./lib/index.ts') },
  { find: /^nestjs-delay-queue\/(\w+(?:\/[\w-]+)?)$/, replacement: source('./lib/$1/index.ts') },
];

/**
 * The ioredis that the library and its tests use in place of the installed one: what `IOREDIS` names, a package or the path of
 * one. The programs of `test/fleet` are processes of their own, and use the installed one.
 */
const GIVEN = process.env['IOREDIS'] || 'ioredis';

type Settings = NonNullable<TestProjectInlineConfiguration['test']>;

/** Group after group is run, so each group has the machine to itself. */
function project(name: string, group: number, settings: Settings, ioredis = GIVEN): TestProjectInlineConfiguration {
  const path = /^[./]/.test(ioredis) ? resolve(ioredis) : ioredis;
  return {
    plugins: [luaScripts()],
    resolve: {
      alias: [
        ...(ioredis === 'ioredis' ? [] : [{ find: /^ioredis$/, replacement: require.resolve(path) }]),
        ...ENTRIES,
      ],
    },
    test: {
      name,
      sequence: { groupOrder: group },
      // They only say when a test gives up: what an idle host does in a second takes a busy one much longer.
      testTimeout: 120_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 60_000 } },
      ...settings,
    },
  };
}

/** A worker loads Nest and the library once, and not again for each file, so a file must leave nothing behind. */
const SHARED_PROCESS: Settings = {
  isolate: false,
  setupFiles: ['test/support/setup/leaves-no-trace.ts', 'test/support/setup/seed.ts'],
  unstubEnvs: true,
  unstubGlobals: true,
  // A test of leaks asks for a garbage collection.
  execArgv: ['--expose-gc'],
};

/** They start processes, measure time, or both. */
const ONE_AT_A_TIME: Settings = { fileParallelism: false, maxConcurrency: 4 };

/** They install, compile and bundle. */
const BUILDING: Settings = { maxConcurrency: 2, testTimeout: 300_000, hookTimeout: 300_000 };

/** Tests that use one processor each, and measure no time. */
const PACKAGES = ['test/package/**/*.spec.ts'];
const ENVIRONMENTS = [
  'test/extended/packages/**/*.spec.ts',
  'test/extended/{command-line-surroundings,secrets}.spec.ts',
];

/** Whether vitest is told to update what tests write. */
const UPDATES = process.argv.some((one) => one === '-u' || one === '--update');

/** The pages in a browser: they wait most of the time, and measure nothing. */
const PAGES = ['test/extended/dashboard/**/*.spec.ts'];

/** What is sent with ioredis, and how its connections fail. */
const ABOUT_IOREDIS = [
  'test/contract/redis-broker.spec.ts',
  'test/unit/engines/redis/scripts/script-client.spec.ts',
  'test/integration/redis-{connection,database,failover,link,nodes,replicas,sentinel,signals}.spec.ts',
  'test/e2e/{boot,example,redis-outage,shutdown}.spec.ts',
];

/** All tests that use ioredis in their own process. */
const WITH_IOREDIS = ['test/{contract,integration}/**/*.spec.ts', 'test/e2e/*.spec.ts', 'test/e2e/nest/**/*.spec.ts'];

/** Extended tests that have a long form, too; they ask `inject('soak')`. */
const LONG_TOO = [
  'test/extended/bullmq-import.spec.ts',
  'test/extended/drills.spec.ts',
  'test/extended/packages/typescript.spec.ts',
];

export default defineConfig({
  test: {
    // On two cores: tests wait for Redis and for time for a third of theirs.
    maxWorkers: 3,
    allowOnly: false,
    globalSetup: [
      'test/support/setup/run-folder.ts',
      'test/support/setup/shared-redis.ts',
      'test/support/setup/build-programs.mjs',
    ],
    projects: [
      project('in-process', 0, {
        ...SHARED_PROCESS,
        include: [
          'test/{cli,contract,drills,e2e,integration,simulation,support,unit}/**/*.spec.ts',
          'sample/**/*.spec.ts',
        ],
      }),
      // The compiler fills the memory of its process.
      project('docs', 0, { ...SHARED_PROCESS, include: ['test/docs/**/*.spec.ts'] }),
      project('packages', 0, { ...BUILDING, include: PACKAGES }),
      project('processes', 1, { ...ONE_AT_A_TIME, include: ['test/fleet/**/*.spec.ts'] }),
      project('extended-environments', 2, { ...BUILDING, include: ENVIRONMENTS, provide: { soak: false } }),
      project('extended-dashboard', 2, {
        include: PAGES,
        globalSetup: 'test/support/setup/build-shop.mjs',
        provide: { pictures: UPDATES },
      }),
      project('ioredis-5', 2, { ...SHARED_PROCESS, include: ABOUT_IOREDIS }, 'ioredis-5'),
      project('extended', 3, {
        ...ONE_AT_A_TIME,
        include: ['test/extended/**/*.spec.ts'],
        exclude: [...ENVIRONMENTS, ...PAGES],
        provide: { soak: false },
      }),
      project('soak', 4, {
        ...ONE_AT_A_TIME,
        include: ['test/soak/**/*.spec.ts', ...LONG_TOO],
        provide: { soak: true },
        testTimeout: 600_000,
      }),
      project('soak-ioredis-5', 5, { ...SHARED_PROCESS, include: WITH_IOREDIS }, 'ioredis-5'),
    ],
  },
});
