import { expect, it } from 'vitest';
import type { DelayQueueAdmin } from '../../../lib/admin/delay-queue.admin.js';
import type { FleetReceiver } from '../../../lib/admin/fleet.js';
import type { MessageDetails } from '../../../lib/admin/message-details.js';
import type { PeekPage } from '../../../lib/admin/peek.js';
import type { TopicStats } from '../../../lib/admin/topic-stats.js';
import { countAll, nextCommand, overviewColumns } from '../../../lib/cli/overview.js';
import { Gate } from '../../support/waiting.js';

const NOW = Date.UTC(2026, 10, 26, 3);
const ago = (milliseconds: number): Date => new Date(NOW - milliseconds);

/** Of a topic of which nothing is late. */
function stats(given: Partial<TopicStats>): TopicStats {
  const counts = { scheduled: 4, due: 0, blockedDue: 0, retrying: 0, paused: false, heldUntil: undefined };
  const partitions = [{ owner: 'a' }];
  return { topic: 'jobs', ...counts, partitions, unreachable: [], ...given } as unknown as TopicStats;
}

function cell(title: string, counted: TopicStats, receivers: readonly Partial<FleetReceiver>[] = []): string {
  const column = overviewColumns(NOW, (_, text) => text).find((one) => one.title === title);
  const line = { topic: 'jobs', stats: counted, receivers: receivers as FleetReceiver[], error: undefined };
  return column?.cell(line) ?? '';
}

it('what is blocked behind others of its key is overdue too', () => {
  const late = stats({ blockedDue: 2, oldestBlockedDueAt: ago(60_000), oldestDueAt: ago(5000) });
  expect(cell('OLDEST OVERDUE', late)).toBe('1m');
  expect(cell('TROUBLE', late)).toBe('2 overdue behind others of their key, or its limits');
  expect(cell('TROUBLE', stats({ blockedDue: 2, oldestBlockedDueAt: ago(10_000) }))).toBe('');
});

it('who receives is busy, or gone', () => {
  const unowned = stats({ due: 1, partitions: [{}] as unknown as TopicStats['partitions'] });
  const receiver = { waiting: 0, seenAt: ago(90_000) };
  expect(cell('TROUBLE', unowned, [{ ...receiver, state: 'busy' }])).toBe('1 receiver, busy');
  expect(cell('TROUBLE', unowned, [{ ...receiver, state: 'idle' }])).toBe('');
  expect(cell('TROUBLE', unowned, [{ ...receiver, state: 'gone' }])).toBe('received by nobody for 1m 30s');
  expect(cell('TROUBLE', unowned)).toBe('handled by nobody');
});

it('who receives is asked for before all is counted, so that what is away is waited for once', async () => {
  const asked = new Gate();
  const admin = {
    topics: async () => [],
    statsOf: async () => asked.opened.then(() => []),
    fleet: async () => {
      asked.open();
      return { receivers: [] };
    },
  };
  expect(await countAll(admin as unknown as DelayQueueAdmin)).toEqual([]);
});

/** What is next if a topic waits like this, and of each topic these messages do. */
async function next(counted: readonly TopicStats[], ...messages: object[]): Promise<string | undefined> {
  const all = messages.map((message) => ({ id: '42', key: '42', at: new Date(NOW + 1), ...message }) as MessageDetails);
  const peek = async (topic: unknown): Promise<PeekPage> => ({
    messages: all.map((message) => ({ ...message, topic: String(topic) })),
    cursor: undefined,
  });
  return nextCommand({ peek }, counted, NOW);
}

it('the next command is about the message that is late for longest', async () => {
  const late = stats({ topic: 'late', oldestDueAt: ago(20_000) });
  const later = stats({ topic: 'later', oldestBlockedDueAt: ago(30_000) });
  const away = stats({ topic: 'away', oldestDueAt: ago(90_000), unreachable: [1] });
  const failing = stats({ topic: 'failing', retrying: 1 });
  expect(await next([failing, late, away, later], { at: ago(1), key: "o'k" })).toBe("explain later 42 --key 'o'\\''k'");
  expect(await next([stats({}), failing], {}, { id: '43', key: '43', failure: {} })).toBe('explain failing 43');
});

it('there is no next command if nothing is late or has failed, or if that has passed', async () => {
  expect(await next([stats({ due: 1, oldestDueAt: ago(10_000) })], { at: ago(10_000) })).toBeUndefined();
  expect(await next([stats({ oldestDueAt: ago(10_001) })], {})).toBeUndefined();
});
