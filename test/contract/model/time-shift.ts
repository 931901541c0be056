import type { Redis } from 'ioredis';

/**
 * Lets time pass for all keys of a prefix without waiting: moves every stored time into the past.
 *
 * @param milliseconds how much time passes
 */
export async function letTimePass(redis: Redis, prefix: string, milliseconds: number): Promise<void> {
  for (const key of await redis.keys(`{${prefix}:*`)) {
    const name = key.slice(key.lastIndexOf('}') + 2);
    if (['scheduled', 'inflight', 'dead', 'members'].includes(name)) await shiftScores(redis, key, milliseconds);
    if (name === 'deliveries') await shiftRecords(redis, key, milliseconds);
    if (name === 'owner') await shortenLife(redis, key, milliseconds);
  }
}

async function shiftScores(redis: Redis, key: string, milliseconds: number): Promise<void> {
  const members = await redis.zrange(key, '0', '-1');
  for (const member of members) await redis.zincrby(key, -milliseconds, member);
}

/** A record is '[mark ]token delivery attempt due', and a mark may be 'r<due>'. */
async function shiftRecords(redis: Redis, key: string, milliseconds: number): Promise<void> {
  for (const [id, record] of Object.entries(await redis.hgetall(key))) {
    const [due, attempt, delivery, token, mark] = record.split(' ').toReversed();
    const shiftedMark = mark?.startsWith('r') ? `r${Number(mark.slice(1)) - milliseconds}` : mark;
    const fields = [shiftedMark, token, delivery, attempt, Number(due) - milliseconds];
    await redis.hset(key, id, fields.filter((field) => field !== undefined).join(' '));
  }
}

async function shortenLife(redis: Redis, key: string, milliseconds: number): Promise<void> {
  const remaining = (await redis.pttl(key)) - milliseconds;
  if (remaining > 0) await redis.pexpire(key, remaining);
  else await redis.del(key);
}
