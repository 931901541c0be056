import type { Redis } from 'ioredis';

/**
 * Lets time pass for all keys of a prefix without waiting: moves every stored time into the past.
 *
 * @param milliseconds how much time passes
 */
export async function letTimePass(redis: Redis, prefix: string, milliseconds: number): Promise<void> {
  for (const key of await redis.keys(`{${prefix}:*`)) {
    const name = key.slice(key.lastIndexOf('}') + 2);
    if (['scheduled', 'inflight', 'dead', 'blocked', 'finished', 'rated', 'resting'].includes(name))
      await shiftScores(redis, key, milliseconds);
    if (name === 'deliveries') await shiftRecords(redis, key, milliseconds);
    if (name === 'queues') await shiftQueues(redis, key, milliseconds);
    if (name === 'endings') await shiftEndings(redis, key, milliseconds);
    if (name === 'rates') await shiftRates(redis, key, milliseconds);
    if (name === 'meta') await shiftHold(redis, key, milliseconds);
    if (name === 'permits') await shiftPermits(redis, key, milliseconds);
    // What else expires holds its times itself, or is asked for at once.
    if (name === 'handed') await redis.pexpire(key, (await redis.pttl(key)) - milliseconds);
  }
}

async function shiftScores(redis: Redis, key: string, milliseconds: number): Promise<void> {
  const members = await redis.zrange(key, '0', '-1');
  for (const member of members) await redis.zincrby(key, -milliseconds, member);
}

/** A record is '[mark ]token delivery attempt due[ crashes]', and a mark may be 'r<due>', 'f<first publish>' or both. */
const RECORD = /^(?<mark>c |r\d+(?:f\d+)? |f\d+ )?(?<before>\S+ \d+ \d+) (?<due>\d+)(?<after> \d+)?$/;

async function shiftRecords(redis: Redis, key: string, milliseconds: number): Promise<void> {
  for (const [id, record] of Object.entries(await redis.hgetall(key))) {
    await redis.hset(key, id, shifted(record, milliseconds));
  }
}

function shifted(record: string, milliseconds: number): string {
  const earlier = (time: string): string => String(Number(time) - milliseconds);
  const { mark = '', before, due = '', after = '' } = RECORD.exec(record)?.groups ?? {};
  return `${mark.replace(/\d+/g, earlier)}${before} ${earlier(due)}${after}`;
}

/** The second line of an ending is a record. */
async function shiftEndings(redis: Redis, key: string, milliseconds: number): Promise<void> {
  for (const [id, ending] of Object.entries(await redis.hgetall(key))) {
    const [head, record = '', ...rest] = ending.split('\n');
    await redis.hset(key, id, [head, shifted(record, milliseconds), ...rest].join('\n'));
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

/** A log is '<ms> <count> …'. */
function shiftLog(log: string, milliseconds: number): string {
  return log.replaceAll(/(\d+) (\d+)/g, (_, time, count) => `${Number(time) - milliseconds} ${count}`);
}

/** A record is '<until when the key rests, or 0><a space and its log>'. */
async function shiftRates(redis: Redis, key: string, milliseconds: number): Promise<void> {
  for (const [field, record] of Object.entries(await redis.hgetall(key))) {
    const [until = '', ...log] = record.split(' ');
    const earlier = Math.max(0, Number(until) - milliseconds);
    await redis.hset(key, field, [earlier, shiftLog(log.join(' '), milliseconds)].join(' ').trimEnd());
  }
}

async function shiftHold(redis: Redis, key: string, milliseconds: number): Promise<void> {
  const held = await redis.hget(key, 'held');
  if (held !== null) await redis.hset(key, 'held', Number(held) - milliseconds);
}

/** A log, and then lines of '<session> <sequence> <held> <until> <wanted> <turn, or 0>'. */
async function shiftPermits(redis: Redis, key: string, milliseconds: number): Promise<void> {
  const [log = '', ...lines] = ((await redis.get(key)) ?? '').split('\n');
  const earlierLines = lines.map((line) => {
    const [session, sequence, held, until, wanted, turn] = line.split(' ');
    if (turn === undefined) return line;
    const earlier = turn === '0' ? 0 : Math.max(1, Number(turn) - milliseconds);
    return [session, sequence, held, Number(until) - milliseconds, wanted, earlier].join(' ');
  });
  await redis.set(key, [shiftLog(log, milliseconds), ...earlierLines].join('\n'), 'KEEPTTL');
}
