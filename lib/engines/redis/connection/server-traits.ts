import type { RedisClient } from './redis-clients.js';
import { isDenial, isReply } from '../../../store/reply-errors.js';

/** What servers differ in. It is found out by trying, since several products report a Redis version whose features they lack. */
export interface ServerTraits {
  /** Whether scripts may begin with flags: then those that free memory run although the memory is full. */
  readonly scriptFlags: boolean;
  /** Whether there is pub/sub that stays on a partition's cluster node. */
  readonly shardedPubSub: boolean;
}

/** What is used of any server until more is known. */
export const FEWEST_TRAITS: ServerTraits = { scriptFlags: false, shardedPubSub: false };

/** Flags of a script that only reads. With these it runs in every state of a server that ours run in, and on a replica. */
const TRIAL_FLAGS = '#!lua flags=no-writes,allow-oom,allow-stale\n';

/** Called without a channel, SPUBLISH does nothing and needs no rights: a server that knows it says what it misses. */
const TRIAL = `return redis.pcall('SPUBLISH').err`;

/**
 * Tries what servers differ in; to be asked again after each reconnect, since an upgrade may have come in between.
 *
 * @throws the server's error if it runs no scripts at all, or that of the connection
 */
export async function findTraits(client: RedisClient): Promise<ServerTraits> {
  try {
    return { scriptFlags: true, shardedPubSub: isKnown(await client.eval(TRIAL_FLAGS + TRIAL, 0)) };
  } catch (error) {
    if (!isReply(error)) throw error;
    return { scriptFlags: false, shardedPubSub: isKnown(await client.eval(TRIAL, 0)) };
  }
}

/** A command that is denied is known as well: which rights are missing, the probe says. */
function isKnown(refusal: unknown): boolean {
  const text = String(refusal);
  return /wrong number of arg/i.test(text) || isDenial(text);
}
