import { Subject } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Broker } from '../../../lib/store/broker.interface.js';
import { ownerOf } from '../../../lib/store/fleet/owner.js';
import { wrapBroker } from '../../../lib/store/wrap-broker.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { resolveOptions } from '../../../lib/composition/resolve-options.js';
import { ConsumerRuntime } from '../../../lib/consumer/consumer.runtime.js';
import { RetentionTrimmer } from '../../../lib/consumer/upkeep/retention-trimmer.js';
import { Intakes } from '../../../lib/consumer/ownership/intakes.js';
import { Delivery } from '../../../lib/consumer/delivery/delivery.js';
import { LeaseRenewer } from '../../../lib/consumer/delivery/lease-renewer.js';
import { PartitionClaimer } from '../../../lib/consumer/delivery/partition-claimer.js';
import { PartitionSharing } from '../../../lib/consumer/ownership/partition-sharing.js';
import { DeadConnectionWatch } from '../../../lib/consumer/upkeep/dead-connection-watch.js';
import { RunningDeliveries } from '../../../lib/consumer/delivery/running-deliveries.js';
import { ScheduleRunner } from '../../../lib/consumer/upkeep/schedule-runner.js';
import { TopicConsumer } from '../../../lib/consumer/ownership/topic-consumer.js';
import type { QueueEvents } from '../../../lib/events/queue-events.interface.js';
import { type ConsumingOptions, resolveHandler } from '../../../lib/nest/handlers/resolve-handler.js';
import { MetricsReader } from '../../../lib/monitoring/metrics-reader.js';
import { MetricsRecorder, type MetricsRecorderOptions } from '../../../lib/monitoring/metrics-recorder.js';
import { Loop } from '../../../lib/time/loop.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { Startable } from '../../../lib/time/startable.interface.js';
import type { Progress } from '../../../lib/fleet/progress.js';
import { UnhandledTopics } from '../../../lib/monitoring/unhandled-topics.js';
import { SeededRandom } from '../../support/random.js';
import { SILENT_REPORTER, testContext, testHandling, testRegistry, testSession } from '../../support/units/handling.js';

const PARTITION = { topic: 'jobs', index: 0 };
const HOUR = 3_600_000;
const NO_PROGRESS: Progress = { renewedAt: 0, unansweredSince: undefined, failedAt: undefined, topics: [] };

/** What a loop works on: a clock, and a broker that counts its calls and answers each some turns later. */
class World {
  readonly clock = new ManualClock(1_000_000);
  readonly calls: string[] = [];
  underWay = 0;
  readonly broker: Broker;

  constructor(random: SeededRandom) {
    const embedded = new EmbeddedBroker(this.clock);
    const counted = async (name: string, call: () => unknown): Promise<unknown> => {
      this.calls.push(name);
      this.underWay++;
      try {
        const answer = await call();
        await turns(random.integer(0, 3));
        return answer;
      } finally {
        this.underWay--;
      }
    };
    this.broker = wrapBroker(embedded, async ({ operation, run }) => counted(operation, run));
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function handlingIn({ clock, broker }: World) {
  return testHandling({ context: testContext({ clock, broker }), settings: { lease: 3000 } });
}

/** Every loop of the runtime, as it comes to work on a world. */
const LOOPS: Record<string, (world: World) => Startable> = {
  Loop: ({ clock, broker }) =>
    new Loop({
      clock,
      run: async () => {
        await broker.fleet.topics();
        return 1000;
      },
    }),
  Session: ({ clock, broker }) => testSession(testContext({ clock, broker }), ['jobs']),
  PartitionSharing: (world) => {
    const { clock, broker } = world;
    const context = testContext({ clock, broker });
    const registry = testRegistry(context);
    const sharing = new PartitionSharing({
      context,
      registry,
      heartbeat: 1000,
      reporter: SILENT_REPORTER,
      onDataLost: () => {},
      leaseChanged: () => {},
    });
    void sharing.begin(['jobs']);
    const { session } = sharing;
    sharing.add(new TopicConsumer(testHandling({ context, session, topics: registry }), 2));
    return {
      start: async () => sharing.start([['jobs']]),
      // What it shares has an end of its own.
      stop: async () => {
        await sharing.stop();
        await Promise.all(sharing.consumers.map((consumer) => consumer.stop()));
      },
    };
  },
  PartitionClaimer: (world) =>
    new PartitionClaimer(
      handlingIn(world),
      {
        partition: PARTITION,
        take: () => 0,
        settlesFirst: false,
        hasSucceeded: false,
        takeSucceeded: () => undefined,
        settled: () => {},
        keepsFinished: () => {},
        lost: () => {},
      },
      ownerOf('epoch', 'me'),
    ),
  RetentionTrimmer: ({ clock, broker }) => {
    const limits = { maxAge: 1000, maxCount: 5 };
    const trim = () => broker.deadLetters.trimDead(PARTITION, limits);
    const retention = { what: 'dead letters', limits, leastPause: 0, trim };
    return new RetentionTrimmer(testContext({ clock, broker }), PARTITION, retention);
  },
  LeaseRenewer: (world) => {
    const running = new RunningDeliveries();
    const claimed = {
      storedId: 'a',
      envelope: '[1,2]',
      token: 'epoch.1',
      delivery: 1,
      attempt: 1,
      weight: 0,
      dueAt: 0,
    };
    running.add(new Delivery(PARTITION, claimed, Infinity));
    const renewer = new LeaseRenewer(handlingIn(world), PARTITION, { running, settler: { waiting: [] } });
    return { start: () => renewer.start(Infinity), stop: async () => renewer.stop() };
  },
  DeadConnectionWatch: ({ clock, broker }) =>
    new DeadConnectionWatch(testContext({ clock, broker }), 1000, { progress: NO_PROGRESS, retryClaims: () => {} }),
  ConsumerRuntime: ({ clock, broker }) => {
    const options = resolveOptions({ defaults: { partitions: 2 } }) as ConsumingOptions;
    const handler = resolveHandler('Jobs.work', ['jobs', 'more'], {}, options);
    const context = testContext({ clock, broker });
    return new ConsumerRuntime({
      context,
      topics: testRegistry(context, { settingsOf: options.topicSettings }),
      settings: options.consumer,
      handlers: [{ ...handler, handle: () => {} }],
      intakes: new Intakes(true),
      hooks: [],
      timeout: 5000,
      onDataLost: () => {},
    });
  },
  ScheduleRunner: ({ clock, broker }) => {
    const context = testContext({ clock, broker });
    return new ScheduleRunner({
      context,
      partition: PARTITION,
      order: undefined,
      owner: ownerOf('epoch', 'me'),
      onLost: () => {},
    });
  },
  UnhandledTopics: ({ clock, broker }) => {
    const { events, log } = testContext();
    const unhandled = new UnhandledTopics({ store: broker, clock, events, log });
    unhandled.published('jobs');
    return {
      start: () => unhandled.start({ topics: new Set(), hint: () => undefined }),
      stop: async () => unhandled.stop(),
    };
  },
  MetricsRecorder: ({ clock, broker, calls }) => {
    const kinds = [
      'delivered',
      'missed',
      'errors',
      'acked',
      'retried',
      'dead',
      'cancelled',
      'replaced',
      'released',
      'stale',
    ];
    const events = Object.fromEntries(kinds.map((kind) => [kind, new Subject<QueueEvents[keyof QueueEvents]>()]));
    const { log } = testContext();
    const metrics = {
      open: () => {
        calls.push('open');
        return () => {};
      },
    } as unknown as MetricsRecorderOptions['metrics'];
    return new MetricsRecorder({
      metrics,
      connection: 'default',
      events: events as unknown as MetricsRecorderOptions['events'],
      reader: new MetricsReader({ store: broker, clock, log, topics: () => new Map(), consumed: () => [] }),
    });
  },
};

const random = new SeededRandom();

// The time between two heartbeats is drawn; here it is always the same, so that two loops can be compared.
beforeAll(() => void vi.spyOn(Math, 'random').mockReturnValue(0.5));
afterAll(() => void vi.restoreAllMocks());

/** What is going on, and what more is done within an hour. */
async function lookAt(world: World) {
  const { underWay, clock, calls } = world;
  const timer = clock.nextTimerAt;
  const before = calls.length;
  await turns(20);
  await clock.advance(HOUR);
  return { underWay, timer, later: calls.slice(before) };
}

const AT_REST = { underWay: 0, timer: undefined, later: [] };

describe.each(Object.entries(LOOPS))('%s', (_, make) => {
  it('works once it is started, and changes nothing when it is started again', async () => {
    const [once, twice] = [new World(new SeededRandom(1)), new World(new SeededRandom(1))];
    const [first, second] = [make(once), make(twice)];
    await first.start();
    await Promise.all([second.start(), second.start()]);
    await second.start();
    for (const world of [once, twice]) {
      await turns(20);
      await world.clock.advance(HOUR / 10);
      expect(world.calls.length + (world.clock.nextTimerAt ?? 0)).toBeGreaterThan(0);
    }
    expect(twice.calls).toEqual(once.calls);
    await Promise.all([first.stop(), second.stop()]);
  });

  it('runs no more once it is stopped, whether once or twice', async () => {
    const world = new World(random);
    const loop = make(world);
    await loop.start();
    await world.clock.advance(5000);
    await Promise.all([loop.stop(), loop.stop()]);
    await loop.stop();
    expect(await lookAt(world)).toEqual(AT_REST);
    await loop.start();
    expect(await lookAt(world)).toEqual(AT_REST);
  });

  it('never works if it is stopped before it is started', async () => {
    const world = new World(random);
    const loop = make(world);
    await loop.stop();
    await loop.start();
    expect(world.calls).toEqual([]);
    expect(await lookAt(world)).toEqual(AT_REST);
  });

  it('keeps that whatever is called when', async () => {
    for (let round = 0; round < 20; round++) {
      const world = new World(random);
      const loop = make(world);
      const pending: Promise<void>[] = [];
      for (let step = 0; step < 8; step++) {
        const chance = random.next();
        if (chance < 0.5) pending.push(Promise.resolve(loop.start()));
        else if (chance < 0.6) pending.push(Promise.resolve(loop.stop()));
        else if (chance < 0.8) await turns(random.integer(1, 4));
        else await world.clock.advance(random.integer(1, 5000));
      }
      pending.push(Promise.resolve(loop.stop()));
      await world.clock.advance(0);
      await Promise.all(pending);
      expect(await lookAt(world)).toEqual(AT_REST);
    }
  });
});
