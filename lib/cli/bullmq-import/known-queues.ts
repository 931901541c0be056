import type { Redis } from 'ioredis';
import type { RedisConnection } from '../../broker/redis/redis-connection.js';

/** Most steps of the search; a Redis may hold millions of keys that are of something else. */
const MOST_STEPS = 100;

/** Keys of one step. */
const STEP = 1000;

/** Queues under a prefix, as far as a short search finds them; none in a Cluster. */
export async function knownQueues(connection: RedisConnection, prefix: string): Promise<string[]> {
  if (connection.commands.isCluster) return [];
  return connection.send(async (client) => {
    const redis = client as Redis;
    const [start, end] = [`${prefix}:`, ':id'];
    const found = new Set<string>();
    let cursor = '0';
    for (let step = 0; step < MOST_STEPS; step++) {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `${escaped(start)}*${end}`, 'COUNT', STEP);
      for (const key of keys) found.add(key.slice(start.length, -end.length));
      cursor = next;
      if (cursor === '0') break;
    }
    return [...found].toSorted();
  });
}

/** What a pattern of Redis takes as it is. */
function escaped(text: string): string {
  return text.replaceAll(/[*?[\]\\^]/g, String.raw`\$&`);
}
