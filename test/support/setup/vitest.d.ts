import 'vitest';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The Redis that all tests of a run share; every test uses a prefix of its own. */
    redisUrl: string;
    /** A temporary folder that is removed when the run has ended. */
    runFolder: string;
    /** Whether the test is part of `npm run test:soak`, and plays its long form. */
    soak: boolean;
    /** Whether the test of the dashboard's pages takes pictures of them. */
    pictures: boolean;
  }
}
