import { expect, it } from 'vitest';
import type { CountedTopic } from '../../../lib/admin/topic-stats.js';
import { lookOver } from '../../../lib/dashboard/overview.js';
import type { DashboardQueues } from '../../../lib/dashboard/route.js';

const NOW = new Date('2026-11-26T03:00:00Z');
const LATE = new Date(NOW.getTime() - 10_001);
const LATER = new Date(NOW.getTime() + 1);

/** What the overview says of a topic that a process handles, and of which four messages are due. */
async function problemsOf(stats: object): Promise<unknown> {
  const all = {
    topic: 'jobs',
    scheduled: 4,
    due: 4,
    blockedDue: 0,
    dead: 0,
    partitions: [{ owner: 'a' }],
    unreachable: [],
    ...stats,
  };
  const admin = {
    topics: async () => ['jobs'],
    fleet: async () => ({ at: NOW, processes: [{ topics: [{ topic: 'jobs', partitions: [0] }] }], topics: [] }),
    statsOf: async () => [{ topic: 'jobs', stats: all } as unknown as CountedTopic],
  };
  const { problems } = await lookOver({ admin } as unknown as DashboardQueues, async () => ({ findings: [] }));
  return problems;
}

it.each([
  ['nothing', {}, []],
  ['what is held, and until when', { heldUntil: LATER }, [{ kind: 'held', topic: 'jobs', count: 4, until: LATER }]],
  ['no hold that has ended', { heldUntil: NOW }, []],
  ['partitions that do not answer', { unreachable: [1, 3] }, [{ kind: 'unreachable', topic: 'jobs', count: 2 }]],
  ['what is late', { oldestDueAt: LATE }, [{ kind: 'late', topic: 'jobs', count: 4 }]],
  [
    'what is late behind others of its key',
    { due: 0, blockedDue: 19, oldestBlockedDueAt: LATE },
    [{ kind: 'blocked', topic: 'jobs', count: 19 }],
  ],
  ['how much should have run', { paused: true, blockedDue: 2 }, [{ kind: 'paused', topic: 'jobs', count: 6 }]],
])('says of a topic: %s', async (_, stats, problems) => {
  expect(await problemsOf(stats)).toEqual(problems);
});
