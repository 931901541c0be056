import type { Log } from '../../log.js';
import type { RedisClient } from './redis-clients.js';

/** A clock that is off by more than this, in milliseconds, is worth a warning. */
const MAX_CLOCK_OFFSET = 1000;

/** Warns of a server that is set up to lose messages. What the server does not let us see is not warned of. */
export async function warnOfLosses(redis: RedisClient, address: string, log: Log): Promise<void> {
  const [memory, persistence, save] = await Promise.all([
    redis.info('memory').catch(() => ''),
    redis.info('persistence').catch(() => ''),
    redis.config('GET', 'save').catch(() => undefined),
  ]);
  const policy = field(memory, 'maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    log.warn(
      `Redis at ${address} has the eviction policy '${policy}': when its memory is full it deletes messages. ` +
        `Set maxmemory-policy to noeviction.`,
    );
  }
  // The types of ioredis 5 leave open what it answers.
  const [, snapshots] = (save ?? []) as readonly string[];
  if (field(persistence, 'aof_enabled') === '0' && snapshots === '') {
    log.warn(
      `Redis at ${address} keeps nothing on disk (appendonly no, save ""): when it restarts, all messages are lost. ` +
        `Set appendonly to yes.`,
    );
  }
}

/**
 * @param offset the server's clock minus this process's, in milliseconds
 */
export function warnOfClockOffset(offset: number, address: string, log: Log): void {
  if (Math.abs(offset) <= MAX_CLOCK_OFFSET) return;
  const direction = offset > 0 ? 'behind' : 'ahead of';
  log.warn(
    `The clock of this machine is ${(Math.abs(offset) / 1000).toFixed(1)} s ${direction} that of Redis at ${address}. ` +
      `Delays are right all the same, but a deliverAt that is computed here is off by as much.`,
  );
}

function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
