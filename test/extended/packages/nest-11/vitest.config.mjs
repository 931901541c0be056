import { defineConfig } from 'vitest/config';
import { luaScripts } from './scripts/setup/lua-scripts.mjs';

const source = (path) => new URL(path, import.meta.url).pathname;

/** For a copy of the tests beside a copy of the library's sources, without a build. */
export default defineConfig({
  plugins: [luaScripts()],
  resolve: {
    alias: [
      { find: /^nestjs-delay-queue$/, replacement: source('./lib/index.ts') },
      { find: /^nestjs-delay-queue\/(\w+)$/, replacement: source('./lib/$1/index.ts') },
    ],
  },
  test: {
    globalSetup: ['test/support/setup/shared-redis.ts'],
    include: [
      'test/e2e/nest/**/*.spec.ts',
      // How the library meets Nest: its module, its hooks, and what handlers return.
      'test/e2e/{boot,boot-failures,example,handler-results,shutdown}.spec.ts',
    ],
    execArgv: ['--expose-gc'],
    // Loading Nest again for each file would more than double the time.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
