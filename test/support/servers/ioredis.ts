import { Redis } from 'ioredis';

/** Whether the tests run with an ioredis that clusters can be used with; see `IOREDIS` in `test/README.md`. */
export const servesClusters = 'protocol' in new Redis({ lazyConnect: true }).options;
