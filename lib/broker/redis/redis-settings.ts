import type { Cluster, ClusterNode, ClusterOptions, Redis, RedisOptions } from 'ioredis';

/**
 * Which Redis to use: a URL, ioredis options (Sentinel included), the nodes of a cluster, or an ioredis instance. An
 * instance is a template: the module opens connections of its own with the same settings, and leaves yours to you.
 *
 * @publicApi
 */
export type RedisSettings =
  | string
  | RedisOptions
  | { nodes: ClusterNode[]; options?: ClusterOptions }
  | Redis
  | Cluster;
