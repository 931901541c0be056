import type { BullQueue } from './bull-queue.js';
import type { Routes } from './job-message.js';

/** A job scheduler or repeatable job of BullMQ or Bull. */
export interface JobScheduler {
  readonly id: string;
  readonly name: string;
  readonly cron: string | undefined;
  /** Milliseconds. */
  readonly every: number | undefined;
  readonly timeZone: string | undefined;
  readonly next: Date;
  /** The call that declares it with `DelayQueueSchedules`. */
  readonly advice: string;
}

/** Most that are listed. */
const MOST_LISTED = 100;

const FIELDS = ['name', 'pattern', 'cron', 'every', 'tz', 'data'] as const;

/** Those of a queue, and how many there are. */
export async function jobSchedulersOf(
  { connection, keys }: BullQueue,
  routes: Routes,
): Promise<{ total: number; listed: JobScheduler[] }> {
  return connection.send(async (redis) => {
    const total = await redis.zcard(keys.repeat);
    const row = await redis.zrange(keys.repeat, '0', String(MOST_LISTED - 1), 'WITHSCORES');
    const ids = row.filter((_, i) => i % 2 === 0);
    const hashes = await Promise.all(ids.map(async (id) => redis.hmget(`${keys.repeat}:${id}`, ...FIELDS)));
    const listed = ids.map((id, i) => {
      const [name, pattern, cron, every, timeZone, data] = hashes[i] ?? [];
      const rule = name ? { name, cron: pattern ?? cron, every, timeZone } : ruleInKey(id);
      return toScheduler(id, rule, { next: Number(row[2 * i + 1]), data, routes });
    });
    return { total, listed };
  }, keys.base);
}

interface Rule {
  readonly name: string;
  readonly cron?: string | null | undefined;
  readonly every?: string | null | undefined;
  readonly timeZone?: string | null | undefined;
}

/** Bull, and BullMQ up to 4, say all in the key: the name, an id, the end, the time zone, and the rule. */
function ruleInKey(key: string): Rule {
  const [name = key, , , timeZone = '', ...rest] = key.split(':');
  const rule = rest.join(':');
  return { name, timeZone, ...(/^\d+$/.test(rule) ? { every: rule } : { cron: rule }) };
}

function toScheduler(
  id: string,
  { name, cron, every, timeZone }: Rule,
  { next, data, routes }: { next: number; data: string | null | undefined; routes: Routes },
): JobScheduler {
  const rule = cron ? { cron, ...(timeZone && { timeZone }) } : { every: Number(every ?? 0) };
  const topic = routes.byName.get(name) ?? routes.topic;
  return {
    id,
    name,
    cron: cron || undefined,
    every: every ? Number(every) : undefined,
    timeZone: timeZone || undefined,
    next: new Date(next),
    advice: `await schedules.upsert(${JSON.stringify({ id, topic, payload: payloadOf(data), ...rule })});`,
  };
}

function payloadOf(data: string | null | undefined): unknown {
  try {
    return JSON.parse(data || '{}');
  } catch {
    return {};
  }
}
