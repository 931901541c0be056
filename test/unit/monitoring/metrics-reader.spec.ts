import { describe, expect, it } from 'vitest';
import type { SessionRecord } from '../../../lib/store/fleet/sessions.js';
import { COUNTERS, type PartitionCounters, type PartitionStats } from '../../../lib/store/messages/partition-counts.js';
import type { Partition } from '../../../lib/store/partition.js';
import type { ReportedProcess, ReportedReceiver } from '../../../lib/store/records/process-records.js';
import { fakeBroker } from '../../support/units/fake-broker.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { MetricsReader } from '../../../lib/monitoring/metrics-reader.js';
import type { TopicProgress } from '../../../lib/fleet/progress.js';
import { LogBook } from '../../support/app/log-book.js';
import { Gate } from '../../support/waiting.js';

const NOW = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

const EMPTY: PartitionStats = {
  scheduled: 0,
  blocked: 0,
  blockedDue: 0,
  oldestBlockedDueAt: undefined,
  due: 0,
  inFlight: 0,
  dead: 0,
  finished: 0,
  retrying: 0,
  nextDueAt: undefined,
  owner: 'somebody',
  paused: false,
  heldUntil: undefined,
  counters: Object.fromEntries(COUNTERS.map((name) => [name, 0])) as PartitionCounters,
};

/** A process that lives, unless something else is said. */
function sessionOf(session: string, given: Partial<SessionRecord> = {}): SessionRecord {
  return { session, count: 1, at: NOW, length: 10 * MINUTE, digest: 'list', left: false, ...given };
}

function reportOf(receivers: readonly ReportedReceiver[]): ReportedProcess {
  const state = { since: 0, version: '1.0.0', clockOffset: 0, concurrency: 1, busy: 0, waiting: 0, receivers };
  return { state, holdings: undefined };
}

interface Setup {
  readonly topics?: Record<string, number>;
  readonly consumed?: TopicProgress[];
  readonly stats?: (partition: Partition) => Partial<PartitionStats>;
  /** What the processes have told of those who receive. */
  readonly receivers?: readonly ReportedReceiver[];
}

function setUp({ topics = { jobs: 3 }, consumed = [], stats = () => ({}), receivers = [] }: Setup = {}) {
  const clock = new ManualClock(NOW);
  const logs = new LogBook();
  const calls: string[] = [];
  const answer = { stats, before: async (): Promise<void> => undefined };
  const reader = new MetricsReader({
    store: fakeBroker({
      now: () => clock.now(),
      fleet: {
        sessions: async () => [
          sessionOf('ended', { at: NOW - 10 * MINUTE }),
          sessionOf('left', { left: true }),
          sessionOf('me'),
          sessionOf('somebody'),
        ],
      },
      records: {
        reportedProcesses: async (sessions) =>
          sessions.map((session) =>
            session === 'somebody' ? reportOf(receivers) : { state: undefined, holdings: undefined },
          ),
      },
      messages: {
        stats: async (partition) => {
          calls.push(`${partition.topic}:${partition.index}`);
          await answer.before();
          return { ...EMPTY, ...answer.stats(partition) };
        },
      },
    }),
    clock,
    log: logs,
    topics: () => new Map(Object.entries(topics)),
    consumed: () => consumed,
  });
  return { reader, clock, logs, calls, answer };
}

/** What a process does that owns these partitions. */
function owning(partitions: readonly number[], { handling = 0, abandoned = 0 } = {}): TopicProgress {
  const owned = partitions.map((partition) => {
    return {
      partition,
      answeredAt: NOW,
      unansweredSince: undefined,
      failedAt: undefined,
      saturated: false,
      limited: false,
    };
  });
  return {
    topic: 'jobs',
    stopped: false,
    owned,
    handling,
    abandoned,
    limitedSince: undefined,
    starvedSince: undefined,
  };
}

const OWNER = owning([0, 2], { handling: 4, abandoned: 1 });

describe('a reading', () => {
  it('adds up the partitions of a topic, and uses the earliest overdue time', async () => {
    const { reader } = setUp({
      consumed: [OWNER],
      receivers: [
        { topic: 'jobs', consumer: 'busy', waiting: 0, holding: 2, seenAt: NOW - MINUTE },
        { topic: 'jobs', consumer: 'idle', waiting: 1, holding: 0 },
        { topic: 'jobs', consumer: 'gone', waiting: 0, holding: 0, seenAt: NOW - MINUTE },
        { topic: 'others', consumer: 'busy', waiting: 0, holding: 1, seenAt: NOW },
      ],
      stats: ({ index }) =>
        [
          { scheduled: 5, due: 2, blocked: 2, dead: 1, finished: 4, nextDueAt: NOW - 4000 },
          { scheduled: 1, due: 1, retrying: 3, nextDueAt: NOW - 9000, owner: undefined },
          // Its earliest message is not due yet.
          { scheduled: 7, dead: 2, finished: 5, nextDueAt: NOW + 60_000, paused: true },
        ][index] ?? {},
    });
    const { up, topics } = await reader.read();
    expect(up).toBe(true);
    expect(topics).toEqual([
      {
        topic: 'jobs',
        consumed: { ownedPartitions: 2, handling: 4, abandonedRuns: 1, limited: 0, starved: 0 },
        backlog: {
          scheduled: 13,
          due: 3,
          blocked: 2,
          dead: 3,
          finished: 9,
          retrying: 3,
          oldestOverdue: 9,
          unownedPartitions: 1,
          busyReceivers: 1,
          idleReceivers: 1,
          pausedPartitions: 1,
          heldPartitions: 0,
        },
      },
    ]);
  });

  it('says that nothing is overdue if nothing is due', async () => {
    const { reader } = setUp({ consumed: [OWNER], stats: () => ({ scheduled: 1, nextDueAt: NOW + 1 }) });
    expect((await reader.read()).topics[0]?.backlog?.oldestOverdue).toBe(0);
  });

  it("compares Redis's clock with the machine's", async () => {
    const { reader, clock } = setUp();
    const { clockOffset } = await reader.read();
    expect(Math.abs(clockOffset - (clock.now() - Date.now()) / 1000)).toBeLessThan(1);
  });

  it.each([
    { who: 'the owner of partition 0', holdings: [0], owner: 'me', reports: true },
    { who: 'the owner of other partitions', holdings: [1, 2], owner: 'somebody', reports: false },
    { who: 'a process that only publishes', holdings: undefined, owner: 'somebody', reports: false },
    {
      who: 'a process that only publishes, while nobody owns it',
      holdings: undefined,
      owner: undefined,
      reports: true,
    },
    { who: 'an owner of others, while nobody owns it', holdings: [1], owner: undefined, reports: true },
    { who: 'an owner of others, if the session of its owner has ended', holdings: [1], owner: 'ended', reports: true },
    { who: 'an owner of others, if its owner has left', holdings: [1], owner: 'left', reports: true },
    { who: 'an owner of others, if nobody knows its owner', holdings: [1], owner: 'stranger', reports: true },
  ])('reports a topic to $who: $reports', async ({ holdings, owner, reports }) => {
    const consumed = holdings ? [owning(holdings)] : [];
    const { reader, calls } = setUp({ consumed, stats: ({ index }) => (index === 0 ? { owner } : {}) });
    const { up, topics } = await reader.read();
    expect(up).toBe(true);
    expect(topics[0]?.backlog !== undefined).toBe(reports);
    expect(topics[0]?.consumed?.ownedPartitions).toBe(holdings?.length);
    expect(calls).toEqual(reports ? ['jobs:0', 'jobs:1', 'jobs:2'] : ['jobs:0']);
  });

  it('reads every partition of a large topic', async () => {
    const { reader, calls } = setUp({ topics: { jobs: 1024 }, consumed: [OWNER], stats: () => ({ scheduled: 1 }) });
    expect((await reader.read()).topics[0]?.backlog?.scheduled).toBe(1024);
    expect(new Set(calls).size).toBe(1024);
  });
});

describe('a storm of scrapes', () => {
  it('costs one reading per second', async () => {
    const { reader, clock, calls } = setUp();
    const first = await Promise.all(Array.from({ length: 100 }, async () => reader.read()));
    expect(new Set(first).size).toBe(1);
    await clock.advance(999);
    await reader.read();
    expect(calls).toEqual(['jobs:0']);
    await clock.advance(1);
    await reader.read();
    expect(calls).toEqual(['jobs:0', 'jobs:0']);
  });

  it('waits for the reading that is under way, however long it takes', async () => {
    const { reader, clock, calls, answer } = setUp();
    const gate = new Gate();
    answer.before = async () => gate.opened;
    const first = reader.read();
    await clock.advance(1900);
    const second = reader.read();
    gate.open();
    expect(await second).toBe(await first);
    expect(calls).toEqual(['jobs:0']);
  });
});

describe('a reading without Redis', () => {
  it('has what the process itself knows, after 2 s at most, and warns once', async () => {
    const { reader, clock, logs, answer } = setUp({ consumed: [OWNER] });
    answer.before = async () => Promise.reject(new BrokerUnavailableError('out of reach'));
    const reading = reader.read();
    await clock.advance(2000);
    expect(await reading).toMatchObject({
      up: false,
      topics: [
        {
          topic: 'jobs',
          consumed: { ownedPartitions: 2, handling: 4, abandonedRuns: 1, limited: 0, starved: 0 },
          backlog: undefined,
        },
      ],
    });
    await clock.advance(1000);
    const again = reader.read();
    await clock.advance(2000);
    await again;
    expect(logs.warnings).toEqual([expect.stringContaining('out of reach')]);

    answer.before = async () => undefined;
    await clock.advance(1000);
    expect(await reader.read()).toMatchObject({ up: true, topics: [{ backlog: { scheduled: 0 } }] });
    answer.before = async () => Promise.reject(new BrokerUnavailableError('gone again'));
    await clock.advance(1000);
    const third = reader.read();
    await clock.advance(2000);
    await third;
    expect(logs.warnings).toHaveLength(2);
  });

  it('ends if a call hangs', async () => {
    const { reader, clock, answer } = setUp();
    answer.before = async () => new Promise(() => {});
    const reading = reader.read();
    await clock.advance(2000);
    expect(await reading).toMatchObject({ up: false });
  });

  it('does not make the scrape fail, whatever the call throws', async () => {
    const { reader, logs, answer } = setUp();
    answer.before = async () => Promise.reject(new TypeError('unexpected'));
    expect(await reader.read()).toMatchObject({ up: false });
    expect(logs.warnings).toEqual([expect.stringContaining('unexpected')]);
  });
});
