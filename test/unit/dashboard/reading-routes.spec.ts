import { expect, it } from 'vitest';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { READING_ROUTES } from '../../../lib/dashboard/reading.routes.js';
import { type AskedContext, Given, type Route, answerOf } from '../../../lib/dashboard/route.js';
import { itsTopic } from '../../../lib/dashboard/sees.js';
import { type Looks, SharedLooks } from '../../../lib/dashboard/shared-looks.js';
import { viewerOf } from '../../../lib/dashboard/viewer.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

/** A context in which somebody looks who may see everything. */
function contextOf(admin: object, clock = new ManualClock()): AskedContext {
  const viewer = viewerOf('read');
  return { queues: { admin }, looks: looksOf(clock), clock, viewer } as unknown as AskedContext;
}

/** What a route answers. */
async function look(route: string, context: AskedContext, query: object): Promise<unknown> {
  return answerOf(context, new Given({ ...query }), READING_ROUTES[route] as Route);
}

/** Of which no age is asked. */
function looksOf(clock: ManualClock): Looks {
  const shared = new SharedLooks(clock);
  return { take: async (...asked) => (await shared.take(...asked)).answer };
}

it('a list of messages that took a second is two seconds old at most', async () => {
  const clock = new ManualClock();
  let looks = 0;
  const peek = async () => {
    looks++;
    await clock.advance(1000);
    return { messages: [], cursor: undefined };
  };
  const context = contextOf({ viewed: () => ({ peek }) }, clock);
  const list = async () => look('api/messages', context, { topic: 'jobs', state: 'scheduled' });
  await list();
  clock.moveTo(clock.now() + 1999);
  await list();
  expect(looks).toBe(1);
  clock.moveTo(clock.now() + 1);
  await list();
  expect(looks).toBe(2);
});

it('the agenda of a span begins now by the clock of Redis, at a whole bucket, and moves on', async () => {
  const clock = new ManualClock();
  const offset = 3_600_000;
  const ranges: unknown[] = [];
  const admin = {
    fleet: async () => ({ at: new Date(clock.now() + offset) }),
    agenda: async (_topic: string, range: object) => {
      ranges.push(range);
      return {};
    },
  };
  const context = contextOf(admin, clock);
  const agenda = async () => look('api/agenda', context, { topic: 'jobs', span: '60000' });
  const begin = Math.floor((clock.now() + offset) / 1000) * 1000;
  await agenda();
  clock.moveTo(clock.now() + 3000);
  await agenda();
  expect(ranges).toEqual([
    { from: begin, to: begin + 60_000, buckets: 60 },
    { from: begin + 3000, to: begin + 63_000, buckets: 60 },
  ]);
});

it('the list of schedules asks what became of those that it shows, and names the topics that the viewer sees', async () => {
  const clock = new ManualClock();
  const error = new BrokerUnavailableError('The shard is away.');
  const asked: string[][] = [];
  const schedules = {
    listKnown: async () => ({
      schedules: ['a', 'hidden', 'b', 'c'].map((id) => ({
        id,
        topic: id === 'hidden' ? 'hidden' : 'jobs',
        payload: 1,
      })),
      failed: ['jobs', 'hidden'].map((topic) => ({ topic, ids: ['x'], error })),
    }),
    lastRuns: async (some: readonly { id: string }[]) => {
      asked.push(some.map(({ id }) => id));
      return some.map(({ id }) => ({ id }));
    },
  };
  const viewer = viewerOf({ right: 'read', topics: ['jobs'] });
  const context = { queues: { schedules }, looks: looksOf(clock), viewer } as unknown as AskedContext;
  const list = async (count: string) => look('api/schedules', context, { count });
  expect(await list('2')).toMatchObject({
    schedules: ['a', 'b'].map((id) => ({ id, lastRun: { id } })),
    total: 3,
    failed: [{ topic: 'jobs', ids: ['x'], code: 'BROKER_UNAVAILABLE', message: 'The shard is away.' }],
  });
  expect(asked).toEqual([['a', 'b']]);
  await expect(list('0')).rejects.toThrow('count must be');
});

it('a viewer of some topics finds a new one within seconds, however long it took to list them', async () => {
  const clock = new ManualClock();
  const topics: string[] = [];
  const list = async () => {
    await clock.advance(1000);
    return [...topics];
  };
  const viewer = viewerOf({ right: 'read', topics: ['jobs'] });
  const context = { queues: { admin: { topics: list } }, looks: looksOf(clock), viewer } as unknown as AskedContext;
  const see = async () => itsTopic.find(context, new Given({ topic: 'jobs' }));
  await expect(see()).rejects.toThrow('There is no such topic.');
  topics.push('jobs');
  clock.moveTo(clock.now() + 10_000);
  await see();
});
