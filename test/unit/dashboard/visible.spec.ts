import { expect, it } from 'vitest';
import type { Agenda } from '../../../lib/admin/agenda.js';
import type { Fleet } from '../../../lib/admin/fleet.js';
import type { Overview } from '../../../lib/dashboard/problems.js';
import { Viewer } from '../../../lib/dashboard/viewer.js';
import { visibleAgenda, visibleFleet, visibleOverview } from '../../../lib/dashboard/visible.js';

const VIEWER = new Viewer({ actor: undefined, topics: ['jobs'], actions: [], payloads: true });
const BOTH = [{ topic: 'jobs' }, { topic: 'mails' }];
const ONE = [{ topic: 'jobs' }];

it('an overview is cut down to the topics of its viewer, without what is wrong with Redis', () => {
  const overview = { topics: BOTH, problems: [{ kind: 'redis' }, ...BOTH] } as unknown as Overview;
  expect(visibleOverview(overview, VIEWER)).toEqual({ topics: ONE, problems: ONE });
});

it('a fleet is cut down to the processes and their topics, without what they did in them all', () => {
  const processes = [
    { process: 'a', topics: BOTH, minutes: [1] },
    { process: 'b', topics: [{ topic: 'mails' }], minutes: [1] },
    { process: 'c', topics: [], minutes: [1] },
  ];
  const receivers = [
    { topic: 'jobs', processes: ['c'] },
    { topic: 'mails', processes: ['b'] },
  ];
  const fleet = { at: 1, processes, receivers, topics: BOTH } as unknown as Fleet;
  expect(visibleFleet(fleet, VIEWER)).toEqual({
    at: 1,
    receivers: [receivers[0]],
    processes: [
      { process: 'a', topics: ONE, minutes: [] },
      { process: 'c', topics: [], minutes: [] },
    ],
    topics: ONE,
  });
});

it('an agenda counts the topics of its viewer alone', () => {
  const jobs = { topic: 'jobs', scheduled: 1, overdue: 2, earlier: 3, later: 4, counts: [5, 6] };
  const sums = { scheduled: 10, overdue: 20, earlier: 30, later: 40 };
  const all = { from: 1, to: 2, ...sums, buckets: [{ count: 50 }, { count: 60 }], unreachable: BOTH };
  const mails = { topic: 'mails', scheduled: 9, overdue: 18, earlier: 27, later: 36, counts: [45, 54] };
  const agenda = { ...all, topics: [jobs, mails] } as unknown as Agenda;
  expect(visibleAgenda(agenda, VIEWER)).toEqual({
    from: 1,
    to: 2,
    scheduled: 1,
    overdue: 2,
    earlier: 3,
    later: 4,
    buckets: [{ count: 5 }, { count: 6 }],
    topics: [jobs],
    unreachable: ONE,
  });
});
