import type { Cluster, ClusterNode, ClusterOptions, Redis, RedisOptions } from 'ioredis';

/**
 * Which Redis to use: a URL, ioredis options (Sentinel included), the nodes of a cluster, or an ioredis instance. An
 * instance is a template: the module opens connections of its own with the same settings, and leaves yours to you.
 * `'embedded:'` needs no Redis: messages are kept in the memory of this process. All connections of the process share them by prefix, they
 * are gone when it ends, and no other process sees them. With `NODE_ENV=production` it is refused, unless it is
 * `'embedded:?allowProduction'`.
 *
 * @publicApi
 */
export type RedisSettings =
  | string
  | RedisOptions
  | { nodes: ClusterNode[]; options?: ClusterOptions }
  | Redis
  | Cluster;
