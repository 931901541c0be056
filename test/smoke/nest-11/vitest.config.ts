import { defineConfig } from 'vitest/config';

/** For the copy of the tests beside an installed library: there is nothing to build, and no name to point at its source. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/shared-redis.ts'],
    include: [
      'test/nest/**/*.spec.ts',
      // How the library meets Nest: its module, its hooks, and what handlers return.
      'test/e2e/{boot,boot-failures,example,handler-results,shutdown}.spec.ts',
      // The forms in which an application publishes and handles.
      'test/e2e/{batch,batch-outcomes,cancel,message-options,priority,publish-many,reschedule,schema}.spec.ts',
    ],
    execArgv: ['--expose-gc'],
    // Each file by itself is what the other run has; to load Nest anew for each would more than double the time.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
