import { describe, expect, it } from 'vitest';
import type { BrokerLink, UnreachableServer } from '../../../lib/store/broker.interface.js';
import { fakeBroker } from '../../support/units/fake-broker.js';
import { COUNTERS, type PartitionCounters, type PartitionStats } from '../../../lib/store/messages/partition-counts.js';
import { DelayQueueHealth } from '../../../lib/monitoring/delay-queue.health.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { PartitionProgress, Progress, TopicProgress } from '../../../lib/fleet/progress.js';

const NOW = Date.UTC(2026, 0, 1);
const PATIENCE = 15_000;

/** What has been due for a minute, in the partition of a process that lives. */
const OVERDUE: PartitionStats = {
  scheduled: 1,
  blocked: 0,
  blockedDue: 0,
  oldestBlockedDueAt: undefined,
  due: 1,
  inFlight: 0,
  dead: 0,
  finished: 0,
  retrying: 0,
  nextDueAt: NOW - 60_000,
  owner: 'me',
  paused: false,
  heldUntil: undefined,
  counters: Object.fromEntries(COUNTERS.map((name) => [name, 0])) as PartitionCounters,
};

interface Setup {
  readonly unreachable?: readonly UnreachableServer[];
  readonly claims?: Partial<PartitionProgress>;
  readonly session?: Partial<Progress>;
  readonly topic?: Partial<TopicProgress>;
  readonly owner?: string | undefined;
}

/** The health of a process that owns one partition of one topic. */
function healthOf({ unreachable = [], claims = {}, session = {}, topic = {}, owner = 'me' }: Setup): DelayQueueHealth {
  const clock = new ManualClock(NOW);
  const link: BrokerLink = {
    isUp: true,
    ping: async () => {},
    listen: async () => {},
    rebuild: () => {},
    unreachable,
  };
  const broker = fakeBroker({
    link,
    now: () => clock.now(),
    fleet: {
      sessions: async () => [{ session: 'me', count: 1, at: NOW, length: 10_000, digest: 'list', left: false }],
    },
    messages: { stats: async () => ({ ...OVERDUE, owner }) },
  });
  const answered = { answeredAt: NOW, unansweredSince: undefined, failedAt: undefined };
  const progress: Progress = {
    renewedAt: NOW,
    unansweredSince: undefined,
    failedAt: undefined,
    ...session,
    topics: [
      {
        topic: 'jobs',
        stopped: false,
        owned: [{ partition: 0, ...answered, saturated: false, limited: false, ...claims }],
        handling: 0,
        abandoned: 0,
        limitedSince: undefined,
        starvedSince: undefined,
        ...topic,
      },
    ],
  };
  return new DelayQueueHealth({
    broker,
    clock,
    topics: { knownPartitions: () => 1 },
    unhandled: { unhandled: [], refresh: async () => {} },
    configured: [],
    progress: () => progress,
    waitingForRoom: () => 0,
    abandoned: () => ({ count: 0, oldest: [] }),
    patience: PATIENCE,
  });
}

describe('DelayQueueHealth', () => {
  it('is degraded by each server of a cluster that cannot be reached, and says since when and why', async () => {
    const since = new Date(NOW - 1000);
    const error = new Error('connect ECONNREFUSED 10.0.0.2:6379');

    expect(await healthOf({ unreachable: [{ address: '10.0.0.2:6379', since, error }] }).check()).toMatchObject({
      status: 'degraded',
      problems: [
        'Redis at 10.0.0.2:6379 cannot be reached since 2025-12-31T23:59:59.000Z: connect ECONNREFUSED 10.0.0.2:6379',
      ],
      connection: { status: 'up' },
    });
  });

  it('is degraded if nobody owns a partition', async () => {
    expect(await healthOf({ topic: { owned: [] }, owner: 'gone' }).check()).toMatchObject({
      status: 'degraded',
      problems: ["Topic 'jobs': no process owns partitions 0"],
      topics: [{ stopped: false, unowned: [0] }],
    });
  });

  it('is up if nobody does and this process has stopped its intake, and says so', async () => {
    expect(await healthOf({ topic: { owned: [], stopped: true }, owner: 'gone' }).check()).toMatchObject({
      status: 'up',
      problems: [],
      topics: [{ stopped: true, unowned: [0], stalled: false, overdue: undefined }],
    });
  });

  const long = NOW - PATIENCE - 1;

  describe('takes a process for stalled', () => {
    it('whose claims have come back neither answered nor failed for too long', async () => {
      expect(await healthOf({ claims: { answeredAt: long, failedAt: long } }).check()).toMatchObject({
        status: 'down',
        topics: [{ stalled: true }],
      });
    });

    it('whose heartbeats have', async () => {
      expect(await healthOf({ session: { renewedAt: long, failedAt: long } }).check()).toMatchObject({
        status: 'down',
        session: { status: 'down', stalled: true },
      });
    });
  });

  describe('does not take a process for stalled whose part of Redis has just come back', () => {
    it('as long as its claims fail, and are repeated', async () => {
      expect(await healthOf({ claims: { answeredAt: long, failedAt: NOW - 250 } }).check()).toMatchObject({
        status: 'up',
        topics: [{ stalled: false }],
      });
    });

    it('as long as its heartbeats do', async () => {
      expect(await healthOf({ session: { renewedAt: long, failedAt: NOW - 250 } }).check()).toMatchObject({
        status: 'degraded',
        problems: ['The session of this process cannot be renewed, so that no partition moves'],
        session: { status: 'down', stalled: false },
      });
    });
  });
});
