import { Redis } from 'ioredis';
import { now } from '../contenders/contender.js';

const EXCHANGES = 50;

/** The difference between Redis's clock and this process's clock, in milliseconds. */
export interface ClockOffset {
  /** Add this to this process's time to get Redis's. */
  readonly offset: number;
  /** The most by which the offset may be wrong. */
  readonly error: number;
}

/** Asks for the time repeatedly and uses the quickest answer. */
export async function measureClockOffset(redisUrl: string): Promise<ClockOffset> {
  const redis = new Redis(redisUrl);
  let best: ClockOffset = { offset: 0, error: Infinity };
  for (let i = 0; i < EXCHANGES; i++) {
    const sentAt = now();
    const [seconds, microseconds] = await redis.time();
    const receivedAt = now();
    const error = (receivedAt - sentAt) / 2;
    const serverTime = Number(seconds) * 1000 + Number(microseconds) / 1000;
    if (error < best.error) best = { offset: serverTime - (sentAt + receivedAt) / 2, error };
  }
  redis.disconnect();
  return best;
}

/** The offset between two measurements; their difference counts as uncertainty. */
export function between(before: ClockOffset, after: ClockOffset): ClockOffset {
  return {
    offset: (before.offset + after.offset) / 2,
    error: Math.max(before.error, after.error) + Math.abs(before.offset - after.offset) / 2,
  };
}
