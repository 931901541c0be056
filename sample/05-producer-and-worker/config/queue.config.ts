/** Both applications must have the same settings to meet. */
export const queueConfig = {
  redis: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379',
  prefix: process.env['QUEUE_PREFIX'] ?? 'sample-reports',
};
