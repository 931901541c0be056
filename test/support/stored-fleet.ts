import type { Redis } from 'ioredis';
import { decodeSessions, sessionOfOwner } from './internals.js';

/** The owners of partitions that are stored under some of these keys; a partition that was released has none. */
export async function ownersAmong(redis: Redis, keys: readonly string[]): Promise<string[]> {
  const stored = await Promise.all(keys.filter((key) => key.endsWith(':owner')).map(async (key) => redis.get(key)));
  return stored.map((owner) => sessionOfOwner(owner ?? undefined)).filter((session) => session !== undefined);
}

/** The sessions that are stored under one of these keys, without those that have left. */
export async function sessionsAmong(redis: Redis, keys: readonly string[]): Promise<string[]> {
  const stored = await Promise.all(keys.filter((key) => key.endsWith(':sessions')).map((key) => redis.hgetall(key)));
  return stored.flatMap((fields) => decodeSessions(fields).flatMap(({ session, left }) => (left ? [] : [session])));
}

/** What consuming processes still have under these keys: sessions, partitions, and keys of messages in flight. */
export async function ofConsumersAmong(redis: Redis, keys: readonly string[]): Promise<string[]> {
  const [sessions, owners] = await Promise.all([sessionsAmong(redis, keys), ownersAmong(redis, keys)]);
  return [...sessions, ...owners, ...keys.filter((key) => key.endsWith(':inflight'))];
}
