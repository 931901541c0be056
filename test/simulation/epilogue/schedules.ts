import { RECURRING } from '../fleet/topics.js';
import type { Running, Stage } from './stage.js';

const EVERY = 1000;

/** How long Redis is silent, which is no outage, and how soon all that was missed is published, in milliseconds. */
const SILENCE = 8000;
const CAUGHT_UP = 10_000;

/** In another topic than before, and never due. */
const ROUNDS = 40;
const MOST_APART = 3;
const RARE = 86_400_000;

/** Redis is silent for less than an outage: what a schedule has missed is published even if it does not catch up. */
export async function occurLate(stage: Stage): Promise<void> {
  const { topics, rules, server, world } = stage.scene;
  const [process] = stage.running;
  if (!process || !topics.includes(RECURRING)) return;
  const { schedules } = process.connection;
  const id = 'late';
  const times = new Set<number>();
  rules.occurrences.add(id, { catchesUp: true, skips: false });
  rules.onBegin = (run) => times.add(Date.parse(run.id.slice(id.length + 1)));
  await stage.answer(schedules.upsert({ id, topic: RECURRING, payload: { takes: 0 }, every: EVERY, catchUp: 'none' }));
  await stage.wait(CAUGHT_UP);
  for (const shard of server.shards) shard.stalledUntil = world.now + SILENCE;
  await stage.wait(SILENCE + CAUGHT_UP);
  rules.onBegin = undefined;
  await stage.answer(schedules.remove(id));
  const missing = (Math.max(...times) - Math.min(...times)) / EVERY + 1 - times.size;
  if (missing > 0) stage.violated(`${missing} occurrences are missing after Redis was silent for ${SILENCE} ms`, [id]);
}

/** One process still stores a schedule for a topic while another one removes it, and stores it for another topic: then there is one, and it is listed. */
export async function moveSchedule(stage: Stage): Promise<void> {
  const [before, after] = stage.running;
  if (!before || !after) return;
  const { server, world } = stage.scene;
  const { data } = server;
  const random = world.random('moves');
  for (let round = 0; round < ROUNDS; round++) {
    const id = `moved-${round}`;
    await stage.answer(upsert(before, id, 'before'));
    const apart = random.between(0, MOST_APART);
    await stage.answer(
      Promise.all([
        upsert(before, id, 'before', 1),
        after.sleep(apart).then(async () => after.connection.schedules.remove(id)),
        after.sleep(2 * apart).then(async () => upsert(after, id, 'after')),
      ]),
    );
    const listed = await stage.answer(after.connection.schedules.list());
    const places = data.keys.filter((key) => /:\d+\}:schedules$/.test(key) && data.call('HGET', key, id) !== null);
    if (places.length > listed.filter((one) => one.id === id).length) {
      return stage.violated(`schedule ${id} is stored in ${places.join(', ')}, and listed ${listed.length} times`, [
        id,
      ]);
    }
    await stage.answer(after.connection.schedules.remove(id));
  }
}

/** Nobody handles a topic for a while, though there are handlers for it, and another process prunes: what they declare stays. */
export async function pruneStopped(stage: Stage): Promise<void> {
  const { fleet, scene } = stage;
  const [topic] = stage.handled('plain');
  const last = fleet.slots.at(-1);
  if (topic === undefined || !last) return;
  last.process?.end();
  const [first, ...others] = stage.running;
  if (!first) return;
  const schedule = { id: 'kept', topic, payload: null, every: RARE };
  await stage.answer(first.connection.schedules.declare(schedule));
  await stage.answer(Promise.all([first, ...others].map(async ({ connection }) => connection.consumers.stop())));
  await stage.wait(CAUGHT_UP);
  last.startProducer().catch((error: unknown) => scene.rules.failed('a producer starts', error));
  await stage.until(() => last.process?.connection !== undefined, CAUGHT_UP);
  const pruned = await stage.answer(last.process?.connection?.schedules.prune() ?? Promise.resolve([]));
  if (pruned.length > 0) stage.violated(`${pruned.join()} is pruned while nobody handles its topic`, pruned);
  await stage.answer(first.connection.schedules.remove(schedule.id));
}

/** What exists with another topic is not changed. */
async function upsert({ connection }: Running, id: string, topic: string, more = 0): Promise<void> {
  try {
    await connection.schedules.upsert({ id, topic, payload: null, every: RARE + more });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'INVALID_ARGUMENT') throw error;
  }
}
