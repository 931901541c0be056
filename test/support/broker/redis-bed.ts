import { randomUUID } from 'node:crypto';
import * as ioredis from 'ioredis';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { CallId, Partition } from '../../../lib/store/partition.js';
import { RedisBroker } from '../../../lib/engines/redis/redis.broker.js';
import { StoreKeys, type PartitionKeys } from '../../../lib/store/keys.js';
import type { RedisSettings } from '../../../lib/engines/redis/connection/which-redis.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { SystemClock } from '../../../lib/time/clock.js';
import { Claimant } from './claimant.js';
import type { Log } from '../../../lib/log.js';

export const SILENT: Log = { log() {}, warn() {}, error() {} };

/** A broker that is not connected yet. */
export function newRedisBroker(
  redis: RedisSettings,
  prefix: string = randomUUID(),
  connectTimeout = 5000,
): RedisBroker {
  return new RedisBroker({ ioredis, redis, prefix, connectTimeout, clock: new SystemClock(), log: SILENT });
}

/** One partition of a Redis: the broker that is tested, and a plain client to look behind it. */
export interface RedisBed {
  readonly broker: RedisBroker;
  readonly redis: Redis;
  readonly prefix: string;
  readonly partition: Partition;
  readonly keys: PartitionKeys;
  /** Claims in the partition, once it has acquired it. */
  readonly claimant: Claimant;
  /** A call that is the repeat of none. */
  readonly nextCall: () => CallId;
  /** Every key with the bed's prefix. */
  readonly storedKeys: () => Promise<string[]>;
  /** Removes what the bed has stored, and closes its connections. */
  readonly close: () => Promise<void>;
}

export async function openRedisBed(url: string): Promise<RedisBed> {
  const prefix = randomUUID();
  const partition: Partition = { topic: 'orders', index: 0 };
  const broker = newRedisBroker(url, prefix);
  const redis = new Redis(url, { replyMapping: 'legacy' });
  await broker.connect();
  const storedKeys = (): Promise<string[]> => scan(redis, `{${prefix}[:}]*`);
  let sequence = 0;
  return {
    broker,
    redis,
    prefix,
    partition,
    keys: new StoreKeys(prefix).partition(partition),
    claimant: new Claimant(broker, partition),
    nextCall: () => ({ caller: 'bed', sequence: ++sequence }),
    storedKeys,
    close: async () => {
      const stored = await storedKeys();
      if (stored.length > 0) await redis.unlink(...stored);
      await broker.close();
      redis.disconnect();
    },
  };
}

/** What a call is refused with; fails if it is served. */
export async function refusal(call: Promise<unknown>): Promise<BrokerUnavailableError> {
  const error = await call.then(
    () => expect.fail('it was served'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BrokerUnavailableError);
  return error as BrokerUnavailableError;
}

/** What a call is answered with; `undefined` if it fails for the time being. */
export async function ifServed<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof BrokerUnavailableError && error.transient) return undefined;
    throw error;
  }
}

/** Redis's clock, epoch milliseconds with fractions. */
export async function serverTime(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1000 + Number(microseconds) / 1000;
}

/** Resolves once Redis's clock has reached `time` (epoch milliseconds). */
export async function serverTimeReaches(redis: Redis, time: number): Promise<void> {
  for (let remaining = 1; remaining > 0;) {
    remaining = time - (await serverTime(redis));
    if (remaining > 0) await new Promise((resolve) => setTimeout(resolve, Math.ceil(remaining)));
  }
}

async function scan(redis: Redis, pattern: string): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', 1000);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== '0');
  return [...found].toSorted();
}
