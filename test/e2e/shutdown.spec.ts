import { Injectable } from '@nestjs/common';
import { type DelayedMessage, DelayedHandler, DeliveryAbortedError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { report } from '../support/readings/statistics.js';
import { Gate, abortOf, eventually, within } from '../support/waiting.js';

const TOPIC = 'jobs';
const PARTITIONS = 8;

/** What a busy host may add to the time that a close may take, in milliseconds. */
const BUSY_HOST = 5000;

@Injectable()
class Jobs extends Recorder<number> {
  @DelayedHandler(TOPIC)
  async work(payload: number, message: DelayedMessage<number>) {
    return this.take(payload, message);
  }
}

const bed = useBed();

async function start(shutdownTimeout: number | string = 500): Promise<{ app: RunningApp; jobs: Jobs }> {
  const app = await bed.start({
    providers: [Jobs],
    options: { defaults: { partitions: PARTITIONS }, consumer: { shutdownTimeout, lease: '30s' } },
  });
  return { app, jobs: app.get(Jobs) };
}

/** The owner of each partition. */
async function owners(): Promise<(string | undefined)[]> {
  return Promise.all(Array.from({ length: PARTITIONS }, async (_, i) => bed.partition(TOPIC, i).owner()));
}

/** Publishes `count` messages whose handlers all run at the end. */
async function occupy({ app, jobs }: { app: RunningApp; jobs: Jobs }, count: number): Promise<void> {
  await app.producer.publishMany(
    TOPIC,
    Array.from({ length: count }, (_, payload) => ({ payload, options: { id: `m${payload}` } })),
  );
  await jobs.called(count);
}

/** Resolves once each owns half of the partitions. */
async function balanced(first: RunningApp, second: RunningApp): Promise<void> {
  await eventually(() => {
    for (const { events } of [first, second]) {
      const held = new Set<number>();
      for (const { partition, owned } of events.ownership.past) {
        if (owned) held.add(partition);
        else held.delete(partition);
      }
      expect(held.size).toBe(PARTITIONS / 2);
    }
  });
}

describe('closing one of two applications while 50 handlers run in it', () => {
  it('acknowledges those that end in time, and hands the others over at once, with their partitions', async () => {
    const first = await start();
    const finish = new Gate();
    const reasons: unknown[] = [];
    first.jobs.respond = async (payload, { signal }) => {
      if (payload % 2 === 0) return finish.opened;
      const reason = await abortOf(signal);
      reasons.push(reason);
      throw reason;
    };
    await occupy(first, 50);
    const second = await start();
    await balanced(first.app, second.app);
    const ownersBefore = await owners();

    const closedAt = performance.now();
    const closing = first.app.close();
    // Intake has stopped once the partitions are gone.
    await eventually(async () => expect(new Set(await owners()).size).toBe(1));
    expect(new Set(ownersBefore).size).toBe(2);
    finish.open();
    await first.app.events.acked.take(25);
    await closing;
    const closeTook = performance.now() - closedAt;

    expect(first.app.events.acked.past.map(({ id }) => Number(id.slice(1)) % 2)).toEqual(Array(25).fill(0));
    expect(reasons).toHaveLength(25);
    for (const reason of reasons) {
      expect(reason).toBeInstanceOf(DeliveryAbortedError);
      expect(reason).toMatchObject({ code: 'SHUTDOWN' });
    }
    expect(closeTook).toBeGreaterThanOrEqual(499);
    expect(closeTook).toBeLessThan(500 + 3000 + BUSY_HOST);
    expect(first.app.events.retried.past).toEqual([]);
    expect(first.app.events.dead.past).toEqual([]);

    const redelivered = await second.jobs.called(25);
    const redeliveryTook = Math.max(...redelivered.map(({ at }) => at)) - performance.timeOrigin - closedAt;
    // The lease has 30 s.
    expect(redeliveryTook).toBeLessThan(15_000);
    expect(redelivered.map(({ message }) => message.attempt)).toEqual(Array(25).fill(1));
    expect(new Set(redelivered.map(({ payload }) => payload))).toEqual(
      new Set(Array.from({ length: 25 }, (_, i) => 2 * i + 1)),
    );
    await second.app.events.acked.take(25);
    expect(second.jobs.calls).toHaveLength(25);
    report(
      `shutdown with 50 handlers and a limit of 500 ms: closed after ${closeTook.toFixed(0)} ms, the 25 that were given ` +
        `back had been delivered again ${redeliveryTook.toFixed(0)} ms after the close began`,
    );
  });

  it('takes no longer if handlers ignore their signals, and settles each message once', async () => {
    const first = await start(200);
    const never = new Gate();
    first.jobs.respond = async () => never.opened;
    await occupy(first, 50);
    const second = await start();
    await balanced(first.app, second.app);
    const closedAt = performance.now();
    await first.app.close();
    expect(performance.now() - closedAt).toBeLessThan(200 + 3000 + BUSY_HOST);
    // Nest has one logger for all applications of a process.
    const warning = second.app.logs.warnings.find((line) => line.includes('still run')) ?? '';
    expect(warning).toMatch(
      /^50 handlers still run after 200 ms; their messages are given back: ('m\d+' of topic 'jobs' in Jobs\.work(, )?){10} and 40 more$/,
    );
    const redelivered = await second.jobs.called(50);
    expect(redelivered.map(({ message }) => message.attempt)).toEqual(Array(50).fill(1));
    await second.app.events.acked.take(50);
    never.open();
    await eventually(() => expect(first.jobs.running).toBe(0));
    expect(first.app.events.acked.past).toEqual([]);
    expect(second.jobs.calls).toHaveLength(50);
    expect(second.app.events.stale.past).toEqual([]);
  });

  it('does not wait for the limit if the handlers end before it', async () => {
    const first = await start('10s');
    const finish = new Gate();
    first.jobs.respond = async () => finish.opened;
    await occupy(first, 50);
    const closedAt = performance.now();
    const closing = first.app.close();
    finish.open();
    await closing;
    // Half of the limit.
    expect(performance.now() - closedAt).toBeLessThan(5000);
    expect(first.app.events.acked.past).toHaveLength(50);
  });
});

describe('an application that is closing', () => {
  it('claims nothing new, though messages fall due and handlers are free', async () => {
    const first = await start('10s');
    const finish = new Gate();
    first.jobs.respond = async () => finish.opened;
    await occupy(first, 1);
    const publisher = await bed.start({ options: { consumer: false } });
    const closing = first.app.close();
    await eventually(async () => expect(new Set(await owners())).toEqual(new Set([undefined])));
    for (let i = 1; i <= 20; i++) await publisher.producer.publish(TOPIC, i, { id: `m${i}` });
    finish.open();
    await closing;
    expect(first.jobs.ids).toEqual(['m0']);

    const second = await start();
    await second.jobs.called(20);
    expect(second.jobs.calls.map(({ payload }) => payload).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
  });

  it('keeps the lease of a running handler, so that nobody else gets the message meanwhile', async () => {
    const first = await start('10s');
    const finish = new Gate();
    first.jobs.respond = async () => finish.opened;
    await occupy(first, 5);
    const second = await start();
    const closing = first.app.close();
    await eventually(async () => expect(new Set(await owners()).size).toBe(1));
    // The other application, which now has all partitions, handles these.
    for (let i = 100; i < 120; i++) await second.app.producer.publish(TOPIC, i, { id: `m${i}` });
    await second.app.events.acked.take(20);
    finish.open();
    await closing;
    expect(first.app.events.acked.past).toHaveLength(5);
    expect(second.jobs.callsOf('m0')).toEqual([]);
    expect(second.jobs.calls).toHaveLength(20);
  });

  it('can still publish while its providers are destroyed', async () => {
    @Injectable()
    class Goodbye {
      readonly said = new Gate();
      say: () => Promise<unknown> = async () => undefined;

      async onModuleDestroy(): Promise<void> {
        await this.say();
        this.said.open();
      }
    }

    const app = await bed.start({ providers: [Goodbye], options: { consumer: false } });
    const goodbye = app.get(Goodbye);
    goodbye.say = async () => app.producer.publish(TOPIC, 1, { id: 'bye', delay: '1h' });
    await app.close();
    await goodbye.said.opened;
    const stored = await Promise.all(
      Array.from({ length: PARTITIONS }, async (_, i) => bed.partition(TOPIC, i).scheduled()),
    );
    expect(stored.flat()).toEqual(['bye']);
  });

  it('may be closed twice at once', async () => {
    const { app } = await start();
    await expect(Promise.all([app.nest.close(), app.nest.close()])).resolves.toHaveLength(2);
  });
});

describe('an application that was closed', () => {
  it('rejects a publish at once, and says why', async () => {
    const app = await bed.start({ options: { consumer: false, publishTimeout: '1m' } });
    const { producer } = app;
    await producer.publish(TOPIC, 1, { id: 'before', delay: '1h' });
    await app.close();
    const publish = producer.publish(TOPIC, 1, { id: 'after' });
    await expect(within('the publish', publish)).rejects.toMatchObject({
      code: 'BROKER_UNAVAILABLE',
      message: expect.stringMatching(/^The connection to Redis at \S+ was closed$/) as string,
    });
  });

  it('leaves neither a session nor an owner behind', async () => {
    const { app, jobs } = await start();
    await occupy({ app, jobs }, 1);
    await app.close();
    expect(await bed.ofConsumers()).toEqual([]);
  });

  it('may be closed again, which does not keep the process from ending', async () => {
    const { app } = await start();
    await app.nest.close();
    await bed.expectNothingOpen();
    await app.nest.close();
    await expect(bed.expectNothingOpen(500)).resolves.toBeUndefined();
  });
});
