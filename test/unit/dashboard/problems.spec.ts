import { expect, it } from 'vitest';
import type { DoctorReport } from '../../../lib/admin/doctor.js';
import type { CountedTopic } from '../../../lib/admin/topic-stats.js';
import { lookOver } from '../../../lib/dashboard/problems.js';
import type { DashboardQueues } from '../../../lib/dashboard/route.js';

const NOW = new Date('2026-11-26T03:00:00Z');
const LATE = new Date(NOW.getTime() - 10_001);
const LATER = new Date(NOW.getTime() + 1);

const HANDLED = { processes: [{ topics: [{ topic: 'jobs', partitions: [0] }] }], receivers: [] };
const RECEIVED = { processes: [{ topics: [] }], receivers: [{ topic: 'jobs', state: 'busy' }] };
const DESERTED = { processes: [{ topics: [] }], receivers: [{ topic: 'jobs', state: 'gone' }] };
const NO_OWNER = { partitions: [{ owner: undefined }] };

/** What the overview says of a topic of which four messages are due. */
async function problemsOf(stats: object, who: object = HANDLED, findings: object[] = []): Promise<unknown> {
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
    fleet: async () => ({ at: NOW, topics: [], ...who }),
    statsOf: async () => [{ topic: 'jobs', stats: all } as unknown as CountedTopic],
  };
  const report = { findings } as DoctorReport;
  const { problems } = await lookOver({ admin } as unknown as DashboardQueues, async () => report);
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

it('what is received needs no owner while all who receive are busy', async () => {
  expect(await problemsOf(NO_OWNER, RECEIVED)).toEqual([]);
  expect(await problemsOf(NO_OWNER, DESERTED)).toEqual([{ kind: 'no-handler', topic: 'jobs', count: 4 }]);
  expect(await problemsOf(NO_OWNER)).toEqual([{ kind: 'no-owner', topic: 'jobs', count: 1 }]);
});

it('says that nobody is there, also if nothing waits', async () => {
  expect(await problemsOf({ scheduled: 0, due: 0 }, DESERTED)).toEqual([{ kind: 'no-process', count: 1 }]);
  expect(await problemsOf({ scheduled: 0, due: 0 }, RECEIVED)).toEqual([]);
});

const found = (check: string, level: string): object => ({ check, level, message: check });

it('says of Redis what is wrong, and what hints at another prefix or database', async () => {
  const findings = [
    found('memory', 'warning'),
    found('disk', 'error'),
    found('prefix', 'warning'),
    found('role', 'ok'),
  ];
  expect(await problemsOf({}, HANDLED, findings)).toMatchObject([{ check: 'disk' }, { check: 'prefix' }]);
});
