import type { Cluster, Redis } from 'ioredis';
import type { RedisSettings } from 'nestjs-delay-queue';

/** The servers of a drill, on the loopback interface. */
export interface Servers {
  /** How an application reaches them. */
  readonly address: Exclude<RedisSettings, Redis | Cluster>;
  /** Ends them all, and removes what they have on disk. */
  stop(): Promise<void>;
}

/** Every server has an append-only file, unless a drill is about what it lacks. */
export const WITH_FILE: readonly string[] = ['--appendonly', 'yes', '--repl-diskless-sync-delay', '0'];
