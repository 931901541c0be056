import type { ConfigurableModuleAsyncOptions } from '@nestjs/common';

/** Options of a `forRootAsync()` that Nest itself reads. */
export const ASYNC_OPTIONS = [
  'imports',
  'inject',
  'useFactory',
  'useClass',
  'useExisting',
  'provideInjectionTokensFrom',
] as const satisfies readonly (keyof ConfigurableModuleAsyncOptions<unknown>)[];
