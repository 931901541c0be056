import type { Redis } from 'ioredis';

/**
 * Lets time pass for all keys of a prefix without waiting: moves every stored time into the past.
 *
 * @param milliseconds how much time passes
 */
export async function letTimePass(redis: Redis, prefix: string, milliseconds: number): Promise<void> {
  for (const key of await redis.keys(`{${prefix}:*`)) {
    const name = key.slice(key.lastIndexOf('}') + 2);
    if (['scheduled', 'inflight', 'dead', 'blocked'].includes(name)) await shiftScores(redis, key, milliseconds);
    if (name === 'deliveries') await shiftRecords(redis, key, milliseconds);
    if (name === 'queues') await shiftQueues(redis, key, milliseconds);
  }
}

async function shiftScores(redis: Redis, key: string, milliseconds: number): Promise<void> {
  const members = await redis.zrange(key, '0', '-1');
  for (const member of members) await redis.zincrby(key, -milliseconds, member);
}

/** A record is '[mark ]token delivery attempt due[ crashes]', and a mark may be 'r<due>', 'f<first publish>' or both. */
const RECORD = /^(?<mark>c |r\d+(?:f\d+)? |f\d+ )?(?<before>\S+ \d+ \d+) (?<due>\d+)(?<after> \d+)?$/;

async function shiftRecords(redis: Redis, key: string, milliseconds: number): Promise<void> {
  const earlier = (time: string): string => String(Number(time) - milliseconds);
  for (const [id, record] of Object.entries(await redis.hgetall(key))) {
    const { mark = '', before, due = '', after = '' } = RECORD.exec(record)?.groups ?? {};
    await redis.hset(key, id, `${mark.replace(/\d+/g, earlier)}${before} ${earlier(due)}${after}`);
  }
}

/** A member is '<key> NUL <due, 16 digits><arrival, 16 digits><stored id>'. */
async function shiftQueues(redis: Redis, key: string, milliseconds: number): Promise<void> {
  for (const member of await redis.zrange(key, '0', '-1')) {
    const at = member.indexOf('\0') + 1;
    const due = String(Number(member.slice(at, at + 16)) - milliseconds).padStart(16, '0');
    await redis.zrem(key, member);
    await redis.zadd(key, 0, member.slice(0, at) + due + member.slice(at + 16));
  }
}
