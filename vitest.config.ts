import { defineConfig } from 'vitest/config';

const shared = {
  resolve: {
    alias: { 'nestjs-delay-queue': new URL('./lib/index.ts', import.meta.url).pathname },
  },
};

const timeouts = { testTimeout: 20_000, hookTimeout: 20_000 };

export default defineConfig({
  test: {
    globalSetup: ['test/support/shared-redis.ts', 'test/support/build-programs.mjs'],
    projects: [
      {
        ...shared,
        test: {
          name: 'in-process',
          include: ['test/**/*.spec.ts'],
          exclude: ['test/fleet/**', 'test/smoke/**', 'test/samples/**', 'test/faults/*.spec.ts'],
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
          include: [
            'test/fleet/**/*.spec.ts',
            'test/smoke/**/*.spec.ts',
            'test/samples/**/*.spec.ts',
            'test/faults/*.spec.ts',
          ],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          ...timeouts,
        },
      },
    ],
  },
});
