import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Respond, batchHandler } from '../support/app/batch-recorder.js';
import { type RunningApp, useBed } from '../support/app/bed.js';
import { report } from '../support/readings/statistics.js';
import { Gate, eventually } from '../support/waiting.js';

const bed = useBed();

const URGENT = 'urgent';
const NORMAL = 'normal';

interface Setup {
  readonly concurrency?: number;
  readonly batch?: number;
  readonly partitions?: number;
  readonly maxIdleWait?: number;
}

/** An application whose one handler has both topics, the urgent one first. */
async function start(
  { concurrency = 10, batch = 1, partitions = 1, maxIdleWait = 200 }: Setup = {},
  respond: Respond = () => undefined,
) {
  const handler = batchHandler([URGENT, NORMAL], { concurrency, batch });
  const app = await bed.compile({
    providers: [handler],
    options: { defaults: { partitions }, consumer: { maxIdleWait } },
  });
  const jobs = app.get(handler);
  // Set before the first message comes.
  jobs.respond = respond;
  await app.nest.init();
  return { app, producer: app.producer, events: app.events, jobs };
}

type Running = Awaited<ReturnType<typeof start>>;

async function startPublisher(partitions = 1): Promise<RunningApp> {
  return bed.start({ options: { consumer: false, defaults: { partitions } } });
}

/** Publishes `count` messages to a topic, due at once by default. */
async function publish({ producer }: Pick<RunningApp, 'producer'>, topic: string, count: number, deliverAt?: number) {
  await producer.publishMany(
    topic,
    Array.from({ length: count }, (_, i) => ({
      payload: i,
      options: { id: `${topic}-${i}`, ...(deliverAt !== undefined && { deliverAt }) },
    })),
  );
}

/** The topics of the calls, in order. */
function topicsOf({ jobs }: Running): string[] {
  return jobs.calls.map(({ messages }) => messages[0]?.topic ?? '');
}

/** Expects that all messages of the urgent topic were handed over before the first of the other. */
function expectUrgentFirst(running: Running): void {
  const topics = topicsOf(running);
  expect(topics.lastIndexOf(URGENT)).toBeLessThan(topics.indexOf(NORMAL));
}

/** Partitions of a topic that an application currently holds. */
function held({ events }: Running, topic: string): number[] {
  const partitions = new Set<number>();
  for (const { partition, owned } of events.ownership.past.filter((event) => event.topic === topic)) {
    if (owned) partitions.add(partition);
    else partitions.delete(partition);
  }
  return [...partitions];
}

/**
 * Resolves once an application of this process has asked for slots after the signals of earlier publishes: they were sent before the next
 * publish was answered, so they lay in the socket when the event loop turned after it. What is due now waits for a timer if the clock of
 * Redis is thought to be a little earlier.
 */
async function signalsHeeded({ producer }: Pick<RunningApp, 'producer'>): Promise<void> {
  await producer.publish('round-trip', null);
  await setTimeout(20);
}

/** Starts two applications, each with half of the partitions of both topics. */
async function startTwo(setup: Setup, responses: readonly [Respond?, Respond?] = []) {
  const both = [await start(setup, responses[0]), await start(setup, responses[1])] as const;
  const half = (setup.partitions ?? 0) / 2;
  for (const topic of [URGENT, NORMAL]) {
    await eventually(() => expect(both.map((running) => held(running, topic).length)).toEqual([half, half]));
  }
  return both;
}

describe('a handler of several topics', () => {
  it.each([
    { concurrency: 1, partitions: 1 },
    { concurrency: 10, partitions: 1 },
    { concurrency: 1, partitions: 4 },
    { concurrency: 10, partitions: 4 },
    { concurrency: 100, partitions: 8 },
  ])(
    'empties the first before it begins with the second: $concurrency at once, $partitions partitions',
    async ({ concurrency, partitions }) => {
      const publisher = await startPublisher(partitions);
      await publish(publisher, NORMAL, 200);
      await publish(publisher, URGENT, 200);
      const running = await start({ concurrency, partitions });
      await running.events.acked.take(400);
      expectUrgentFirst(running);
      expect(new Set(running.jobs.ids.flat()).size).toBe(400);
      expect(running.jobs.calls).toHaveLength(400);
    },
  );

  it('does so with slow handlers', async () => {
    const publisher = await startPublisher(2);
    await publish(publisher, NORMAL, 60);
    await publish(publisher, URGENT, 60);
    const running = await start({ concurrency: 7, partitions: 2 }, async ([message]) =>
      setTimeout(Number(message?.payload) % 5),
    );
    await running.events.acked.take(120);
    expectUrgentFirst(running);
    expect(running.jobs.mostRunning).toBe(7);
  });

  it('does so with batches, and mixes no topics in one', async () => {
    const publisher = await startPublisher(2);
    await publish(publisher, NORMAL, 200);
    await publish(publisher, URGENT, 200);
    const running = await start({ concurrency: 3, partitions: 2, batch: 20 });
    await running.events.acked.take(400);
    expectUrgentFirst(running);
    for (const { messages } of running.jobs.calls) expect(new Set(messages.map(({ topic }) => topic)).size).toBe(1);
  });

  it('lets late messages of the first overtake waiting ones of the second', async () => {
    const publisher = await startPublisher();
    await publish(publisher, NORMAL, 50);
    const gate = new Gate();
    const running = await start({ concurrency: 1 }, async (_messages, call) => (call === 5 ? gate.opened : undefined));
    await running.jobs.called(5);
    await eventually(() => expect(held(running, URGENT)).toEqual([0]));
    await publish(publisher, URGENT, 10, Date.now() - 1_000);
    await signalsHeeded(publisher);
    gate.open();
    await running.events.acked.take(60);
    expect(topicsOf(running)).toEqual([...Array(5).fill(NORMAL), ...Array(10).fill(URGENT), ...Array(45).fill(NORMAL)]);
  });

  it('does not delay the second where nothing of the first is due', async () => {
    // Longer than this test waits: the second topic does not wait for the next look at the first.
    const running = await start({ concurrency: 1, partitions: 4, maxIdleWait: 60_000 });
    const { producer, events } = running;
    // Waits, but is not due.
    await producer.publish(URGENT, null, { delay: '1h' });
    for (let i = 0; i < 10; i++) {
      const { id } = await producer.publish(NORMAL, i);
      await events.acked.first((acked) => acked.id === id);
    }
    const lateness = events.delivered.past.map((delivered) => delivered.lateness);
    report(`the second topic alone: late by at most ${Math.max(...lateness).toFixed(1)} ms`);
    expect(topicsOf(running)).toEqual(Array(10).fill(NORMAL));
  });

  it('begins with the second while the last ones of the first still run', async () => {
    const publisher = await startPublisher();
    await publish(publisher, URGENT, 2);
    await publish(publisher, NORMAL, 5);
    const gate = new Gate();
    const running = await start({ concurrency: 3 }, async ([message]) =>
      message?.topic === URGENT ? gate.opened : undefined,
    );
    await running.events.acked.take(5);
    expect(running.jobs.running).toBe(2);
    gate.open();
    await running.events.acked.take(7);
  });

  it('does not wait for retries of the first before they are due', async () => {
    const publisher = await startPublisher();
    await publish(publisher, URGENT, 5);
    await publish(publisher, NORMAL, 5);
    const running = await start({ concurrency: 1 }, ([message]) => {
      if (message?.topic === URGENT) throw new Error('down');
    });
    // The default backoff is a second.
    await running.events.acked.take(5);
    expect(topicsOf(running).slice(0, 10)).toEqual([...Array(5).fill(URGENT), ...Array(5).fill(NORMAL)]);
  });
});

describe('the second topic of a handler continues', () => {
  it('if the first is paused, and waits again when it is resumed', async () => {
    const publisher = await startPublisher();
    await publish(publisher, URGENT, 20);
    await publish(publisher, NORMAL, 20);
    const urgent = bed.partition(URGENT);
    await bed.redis.hset(urgent.key('meta'), 'paused', '1');
    const gate = new Gate();
    const running = await start({ concurrency: 1 }, async (_messages, call) => (call === 10 ? gate.opened : undefined));
    await running.jobs.called(10);
    expect(topicsOf(running)).toEqual(Array(10).fill(NORMAL));

    // Its resume tells the owner.
    await bed.publishLate(URGENT, null, 1000);
    await signalsHeeded(publisher);
    gate.open();
    await running.events.acked.take(41);
    expect(topicsOf(running)).toEqual([
      ...Array(10).fill(NORMAL),
      ...Array(21).fill(URGENT),
      ...Array(10).fill(NORMAL),
    ]);
  });

  it('if everything of the first was cancelled', async () => {
    const publisher = await startPublisher();
    await publish(publisher, URGENT, 5);
    await publish(publisher, NORMAL, 5);
    const gate = new Gate();
    const running = await start({ concurrency: 1 }, async (_messages, call) => (call === 1 ? gate.opened : undefined));
    await running.jobs.called();
    const results = await Promise.all([0, 1, 2, 3, 4].map((i) => publisher.producer.cancel(URGENT, `${URGENT}-${i}`)));
    expect(results.map(String).toSorted()).toEqual([...Array(4).fill('cancelled'), 'in-flight']);
    gate.open();
    await running.events.acked.take(6);
    expect(topicsOf(running)).toEqual([URGENT, ...Array(5).fill(NORMAL)]);
  });

  it('if another process takes over partitions of the first, and if that one leaves', async () => {
    const first = await start({ partitions: 4 });
    const second = await start({ partitions: 4 });
    await eventually(() => expect(held(second, URGENT).length + held(second, NORMAL).length).toBe(4));
    const publisher = await startPublisher(4);
    for (const topic of [URGENT, NORMAL]) await publish(publisher, topic, 100);
    await eventually(() => expect(first.jobs.calls.length + second.jobs.calls.length).toBe(200));
    await second.app.close();
    await eventually(() => expect(held(first, URGENT).length + held(first, NORMAL).length).toBe(8));
    const before = first.jobs.calls.length;
    const more = Array.from({ length: 50 }, (_, payload) => ({ payload }));
    for (const topic of [URGENT, NORMAL]) await publisher.producer.publishMany(topic, more);
    await first.events.acked.take(before + 100);
  });
});

const slowly: Respond = async () => setTimeout(1);

describe('two processes with a handler of several topics', () => {
  it('each keep the order, and handle each message once', async () => {
    const both = await startTwo({ concurrency: 2, partitions: 4 }, [slowly, slowly]);
    const publisher = await startPublisher(4);
    const dueAt = (await bed.time()) + 500;
    await publish(publisher, URGENT, 400, dueAt);
    await publish(publisher, NORMAL, 400, dueAt + 20);
    const acked = () => both.reduce((sum, { events }) => sum + events.acked.past.length, 0);
    await eventually(() => expect(acked()).toBe(800), 10_000);
    for (const running of both) expectUrgentFirst(running);
    expect(new Set(both.flatMap(({ jobs }) => jobs.ids.flat())).size).toBe(800);
    expect(both.reduce((sum, { jobs }) => sum + jobs.calls.length, 0)).toBe(800);
  });

  it('do not wait for each other: unhandled messages of one do not hold back the other', async () => {
    const gate = new Gate();
    const [stuck, free] = await startTwo({ concurrency: 1, partitions: 2 }, [async () => gate.opened]);
    const publisher = await startPublisher(2);
    const [mine] = held(stuck, URGENT);
    await publish(publisher, URGENT, 50);
    await eventually(async () => expect(await bed.partition(URGENT, mine).inFlight()).toHaveLength(1));
    await publish(publisher, NORMAL, 50);

    const others = await eventually(async () => {
      const waiting = await Promise.all(held(free, NORMAL).map((index) => bed.partition(NORMAL, index).scheduled()));
      expect(waiting.flat()).toEqual([]);
      return topicsOf(free).filter((topic) => topic === NORMAL);
    });
    expect(others.length).toBeGreaterThan(0);
    expect(topicsOf(stuck)).toEqual([URGENT]);
    gate.open();
    await eventually(() => expect(stuck.events.acked.past.length + free.events.acked.past.length).toBe(100));
    expectUrgentFirst(stuck);
  });
});
