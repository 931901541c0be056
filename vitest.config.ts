import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: {
    alias: { 'nestjs-delay-queue': new URL('./lib/index.ts', import.meta.url).pathname },
  },
  test: {
    include: ['test/**/*.spec.ts'],
    globalSetup: ['test/support/redis-server.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
