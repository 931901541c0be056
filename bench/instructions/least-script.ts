import { Redis } from 'ioredis';
import type { Counted } from './counted.js';
import { messageOf } from './message.js';

/** Stores messages by their due time. */
const STORE = `
local members = {}
for i = 2, #ARGV, 2 do
  members[i - 1], members[i] = ARGV[1], ARGV[i]
end
redis.call('HSET', KEYS[2], unpack(ARGV, 2))
redis.call('ZADD', KEYS[1], unpack(members))`;

/** Takes those that are due, and deletes them. */
const TAKE = `
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
local bodies = redis.call('HMGET', KEYS[2], unpack(ids))
redis.call('ZREM', KEYS[1], unpack(ids))
redis.call('HDEL', KEYS[2], unpack(ids))
return bodies`;

/** What any queue in scripts has to do, and no promise kept: the measure for ours, whatever the version of Redis. */
export async function openLeast(socket: string): Promise<Counted> {
  const redis = new Redis(socket);
  const keys = ['{least}:scheduled', '{least}:messages'];
  const [store, take] = (await Promise.all([STORE, TAKE].map((script) => redis.script('LOAD', script)))) as [
    string,
    string,
  ];
  return {
    async publish(count) {
      const messages = Array.from({ length: count }, () => messageOf());
      const fields = messages.flatMap(({ id, envelope }) => [id, envelope]);
      await redis.evalsha(store, keys.length, ...keys, Date.now(), ...fields);
    },
    async handle(most) {
      return ((await redis.evalsha(take, keys.length, ...keys, Date.now(), most)) as unknown[]).length;
    },
    async close() {
      redis.disconnect();
    },
  };
}
