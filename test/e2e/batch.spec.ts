import { setTimeout } from 'node:timers/promises';
import {
  type DelayedMessage,
  type HandlerOptions,
  HandlerTimeoutError,
  InvalidArgumentError,
  type PublishOptions,
  RetryLaterError,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type Respond, batchHandler } from './support/batch-recorder.js';
import { useBed } from './support/bed.js';
import { report } from './support/statistics.js';
import { Gate, abortOf, eventually } from './support/waiting.js';

const bed = useBed();

const TOPIC = 'jobs';

interface Setup extends HandlerOptions {
  readonly partitions?: number;
  readonly shutdownTimeout?: number;
}

async function start(setup: Setup = {}, respond: Respond = () => undefined) {
  const { partitions = 1, shutdownTimeout = 500, ...options } = setup;
  const handler = batchHandler(TOPIC, { batch: 10, backoff: { type: 'fixed', delay: 10 }, ...options });
  const app = await bed.compile({
    providers: [handler],
    options: { defaults: { partitions }, consumer: { shutdownTimeout, maxIdleWait: 200 } },
  });
  const jobs = app.get(handler);
  // Before the first message comes.
  jobs.respond = respond;
  await app.nest.init();
  return { app, producer: app.producer, events: app.events, jobs, partition: bed.partition(TOPIC) };
}

/** Publishes while nobody consumes, so that all are due when somebody does. */
async function publish(messages: Record<string, PublishOptions> | readonly string[], partitions = 1): Promise<void> {
  const publisher = await bed.start({ options: { consumer: false, defaults: { partitions } } });
  const named = Array.isArray(messages) ? messages.map((id: string) => [id, {}] as const) : Object.entries(messages);
  const batch = named.map(([id, options]) => ({ payload: `payload of ${id}`, options: { id, ...options } }));
  await publisher.producer.publishMany(TOPIC, batch);
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `m${i}`);
}

describe('a handler of batches', () => {
  it('is called with arrays of payloads and messages, in the order in which they were due', async () => {
    const due = Date.now() - 60_000;
    await publish({ a: { deliverAt: due + 2 }, b: { deliverAt: due + 1, headers: { x: 'y' } }, c: { deliverAt: due } });
    const { jobs, events } = await start();
    const [call] = await jobs.called();
    expect(call?.payloads).toEqual(['payload of c', 'payload of b', 'payload of a']);
    expect(call?.messages).toMatchObject([
      { id: 'c', topic: TOPIC, partition: 0, payload: 'payload of c', attempt: 1, maxAttempts: 5 },
      { id: 'b', headers: { x: 'y' } },
      { id: 'a' },
    ]);
    expect((await events.acked.take(3)).map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
    expect(events.delivered.past).toHaveLength(3);
    expect(jobs.calls).toHaveLength(1);
  });

  it('gets arrays where its batch is 1, too', async () => {
    const { producer, jobs } = await start({ batch: 1 });
    await producer.publishMany(TOPIC, [{ payload: 1 }, { payload: 2 }]);
    const calls = await jobs.called(2);
    expect(calls.map(({ payloads }) => payloads).toSorted()).toEqual([[1], [2]]);
    expect(calls.map(({ messages }) => messages.map(({ payload }) => payload))).toEqual(
      calls.map(({ payloads }) => payloads),
    );
  });

  it.each([
    { batch: 2, partitions: 1 },
    { batch: 10, partitions: 1 },
    { batch: 33, partitions: 4 },
    { batch: 200, partitions: 2 },
  ])('never gets more than $batch at once, nor of two of $partitions partitions', async ({ batch, partitions }) => {
    const ids = names(500);
    await publish(ids, partitions);
    const { jobs, events } = await start({ batch, partitions });
    await events.acked.take(500);
    expect(Math.max(...jobs.sizes)).toBe(batch);
    for (const { messages } of jobs.calls) expect(new Set(messages.map(({ partition }) => partition)).size).toBe(1);
    expect(jobs.ids.flat().toSorted()).toEqual(ids.toSorted());
  });

  it('gets a single message as soon as it is due, and does not wait for more', async () => {
    const { producer, jobs, events } = await start({ batch: 100 });
    for (const id of names(5)) {
      await producer.publish(TOPIC, null, { id });
      await events.acked.first((acked) => acked.id === id);
    }
    expect(jobs.ids).toEqual(names(5).map((id) => [id]));
    const lateness = events.delivered.past.map((delivered) => delivered.lateness);
    report(`single messages for a handler of batches of 100: late by at most ${Math.max(...lateness).toFixed(1)} ms`);
    expect(Math.min(...lateness)).toBeLessThan(50);
  });

  it('has no more calls at once than its concurrency, whatever their size', async () => {
    const ids = names(200);
    await publish(ids, 4);
    const { jobs, events } = await start({ concurrency: 3, partitions: 4 }, async () => setTimeout(5));
    await events.acked.take(200);
    expect(jobs.mostRunning).toBe(3);
    expect(jobs.ids.flat().toSorted()).toEqual(ids.toSorted());
  });

  it('handles each of 5,000 messages once', async () => {
    const ids = names(5000);
    await publish(ids, 4);
    const { jobs, partition } = await start({ batch: 50, partitions: 4 });
    const acked = async () => {
      const counts = await Promise.all(
        [0, 1, 2, 3].map(async (index) => bed.redis.hget(bed.partition(TOPIC, index).key('meta'), 'acked')),
      );
      return counts.reduce((sum, count) => sum + Number(count), 0);
    };
    await eventually(async () => expect(await acked()).toBe(5000), 15_000);
    expect(jobs.ids.flat()).toHaveLength(5000);
    expect(new Set(jobs.ids.flat()).size).toBe(5000);
    expect(await bed.redis.exists(partition.key('messages'), partition.key('inflight'))).toBe(0);
    report(`5,000 messages in batches of 50: ${jobs.calls.length} calls`);
  });

  it.each([0, 201, 1.5])('fails the boot where its batch is %d, and is named', async (batch) => {
    const error = await bed.failingBoot({ providers: [batchHandler(TOPIC, { batch })] });
    expect(error).toMatchObject({ code: 'CONFIGURATION' });
    expect(error.message).toContain('@DelayedHandler on Jobs.work: batch must be a whole number from 1 to 200');
  });
});

describe('the outcome of a batch', () => {
  it('is one for all where the handler throws: each is retried, by its own settings', async () => {
    await publish({
      plain: {},
      last: { attempts: 1 },
      slow: { backoff: { type: 'fixed', delay: 30 } },
    });
    const { jobs, events, partition } = await start({}, ([message]) => {
      if (message?.attempt === 1) throw new Error('down');
    });
    await events.acked.take(2);
    expect(jobs.ids[0]?.toSorted()).toEqual(['last', 'plain', 'slow']);
    expect(events.retried.past.map(({ id, attempt, delay }) => [id, attempt, delay]).toSorted()).toEqual([
      ['plain', 1, 10],
      ['slow', 1, 30],
    ]);
    expect(events.retried.past[0]?.error).toEqual(new Error('down'));
    expect(events.acked.past.map(({ id, attempt }) => [id, attempt]).toSorted()).toEqual([
      ['plain', 2],
      ['slow', 2],
    ]);
    expect(await partition.dead()).toEqual(['last']);
    expect(await partition.failure('last')).toMatchObject({ reason: 'failed', message: 'down' });
  });

  it('is dead for all where it throws UnrecoverableError', async () => {
    await publish(['a', 'b']);
    const { jobs, events, partition } = await start({}, () => {
      throw new UnrecoverableError('no such table');
    });
    await events.dead.take(2);
    expect(await partition.dead()).toEqual(['a', 'b']);
    expect(await partition.failure('b')).toMatchObject({ reason: 'unrecoverable', message: 'no such table' });
    expect(jobs.calls).toHaveLength(1);
  });

  it('is later for all where it throws RetryLaterError, and no attempt is spent', async () => {
    await publish(['a', 'b']);
    const { events } = await start({ attempts: 1 }, (_messages, call) => {
      if (call === 1) throw new RetryLaterError(30);
    });
    const acked = await events.acked.take(2);
    expect(acked.map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(events.retried.past.map(({ delay }) => delay)).toEqual([30, 30]);
    expect(events.dead.past).toEqual([]);
  });

  it('is one for each where it returns what Promise.allSettled() gives', async () => {
    await publish(['fine', 'broken', 'hopeless', 'busy', 'well']);
    const handle = async ({ id }: DelayedMessage): Promise<void> => {
      if (id === 'broken') throw new Error('down');
      if (id === 'hopeless') throw new UnrecoverableError('gone');
      if (id === 'busy') throw new RetryLaterError(20);
    };
    const { jobs, events, partition } = await start({ attempts: 3 }, (messages, call) =>
      call === 1 ? Promise.allSettled(messages.map(handle)) : undefined,
    );
    await events.acked.take(4);

    expect(jobs.sizes[0]).toBe(5);
    const acked = events.acked.past.map(({ id, attempt }) => [id, attempt]).toSorted();
    expect(acked).toEqual([
      ['broken', 2],
      ['busy', 1],
      ['fine', 1],
      ['well', 1],
    ]);
    expect(events.retried.past.map(({ id, delay }) => [id, delay]).toSorted()).toEqual([
      ['broken', 10],
      ['busy', 20],
    ]);
    expect(await partition.dead()).toEqual(['hopeless']);
    expect(await partition.failure('hopeless')).toMatchObject({ reason: 'unrecoverable', message: 'gone' });
  });

  it('is an error that says so where there are results for another number of messages', async () => {
    await publish(['a', 'b', 'c']);
    const { events } = await start({}, (messages, call) =>
      call === 1 ? Promise.allSettled(messages.slice(1)) : undefined,
    );
    await events.acked.take(3);
    expect(events.retried.past).toHaveLength(3);
    const [{ error } = {}] = events.retried.past;
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toContain('called with 3 messages and returned 2 results');
  });

  it.each<{ what: string; result: unknown }>([
    { what: 'the results of Promise.all()', result: ['done', 'done'] },
    { what: 'results that only look alike', result: [{ status: 'rejected' }, { status: 'shipped' }] },
    { what: 'an empty array', result: [] },
  ])('is an acknowledgement of all where it returns $what', async ({ result }) => {
    await publish(['a', 'b', 'c']);
    const { jobs, events } = await start({}, () => result);
    await events.acked.take(3);
    expect(jobs.calls).toHaveLength(1);
    expect(events.retried.past).toEqual([]);
  });
});

describe('a batch that runs past its time limit', () => {
  it('fails with all of its messages at the smallest timeout, and gives its slot back', async () => {
    await publish({ a: {}, b: { timeout: 50 }, c: { timeout: '1h' } });
    const gate = new Gate();
    const reasons: unknown[] = [];
    const setup: Setup = { concurrency: 1, timeout: '10s', backoff: { type: 'fixed', delay: '1h' } };
    const { jobs, events, producer } = await start(setup, async (messages, call) => {
      if (call > 1) return;
      reasons.push(...(await Promise.all(messages.map(async ({ signal }) => abortOf(signal)))));
      await gate.opened;
    });
    const retried = await events.retried.take(3);
    expect(new Set(retried.map(({ error }) => error)).size).toBe(1);
    expect(retried[0]?.error).toBeInstanceOf(HandlerTimeoutError);
    expect(retried[0]?.error).toMatchObject({ timeout: 50 });
    expect(reasons).toEqual(retried.map(({ error }) => error));
    // Though the function still runs, and it is the only slot.
    await producer.publish(TOPIC, 4, { id: 'd' });
    await events.acked.first(({ id }) => id === 'd');
    expect(jobs.running).toBe(1);
    gate.open();
    await eventually(() => expect(jobs.running).toBe(0));
    expect(events.acked.past).toHaveLength(1);
    expect(events.stale.past).toEqual([]);
  });
});

describe('one message of a batch', () => {
  it('that expired is a dead letter, and is not handed over', async () => {
    const deliverAt = Date.now() - 60_000;
    await publish({ a: { deliverAt }, late: { deliverAt, expireAfter: '1s' }, b: { deliverAt, expireAfter: '1h' } });
    const { jobs, events, partition } = await start();
    await events.acked.take(2);
    expect(jobs.ids).toEqual([['a', 'b']]);
    expect(await events.dead.first()).toMatchObject({ id: 'late', failure: { reason: 'expired' } });
    expect(await partition.dead()).toEqual(['late']);
  });

  it('that is alone and expired leads to no call', async () => {
    await publish({ late: { deliverAt: Date.now() - 60_000, expireAfter: '1s' } });
    const { jobs, events, producer } = await start({ concurrency: 1 });
    await events.dead.first();
    await producer.publish(TOPIC, null, { id: 'next' });
    await events.acked.first();
    expect(jobs.ids).toEqual([['next']]);
  });

  it('that is cancelled has its own signal aborted, and no retry follows', async () => {
    await publish(['a', 'b', 'c']);
    const reasons: unknown[] = [];
    const aborted: boolean[] = [];
    const { jobs, events, producer, partition } = await start({}, async (messages, call) => {
      if (call > 1) return;
      reasons.push(await Promise.race(messages.map(async ({ signal }) => abortOf(signal))));
      aborted.push(...messages.map(({ signal }) => signal.aborted));
      throw new Error('rolled back');
    });
    await jobs.called();
    expect(await producer.cancel(TOPIC, 'b')).toBe('in-flight');
    await events.acked.take(2);
    expect(reasons).toMatchObject([{ code: 'CANCELLED' }]);
    expect(aborted).toEqual([false, true, false]);
    expect(jobs.ids.slice(1).flat().toSorted()).toEqual(['a', 'c']);
    expect(events.retried.past.map(({ id, error }) => [id, error]).toSorted()).toEqual([
      ['a', new Error('rolled back')],
      ['c', new Error('rolled back')],
    ]);
    expect(await partition.envelope('b')).toBeUndefined();
  });

  it('that loses its lease waits for the batch to end, and holds nothing else up', async () => {
    await publish(['a', 'b']);
    const gate = new Gate();
    const { jobs, events, producer, partition } = await start({ lease: '1s' }, async (_messages, call) =>
      call === 1 ? gate.opened : undefined,
    );
    const [call] = await jobs.called();
    const [a, b] = call?.messages ?? [];

    // As if its lease had ended: the receipt of the running delivery fits no more.
    const [, delivery = '', attempt = ''] = ((await bed.redis.hget(partition.key('deliveries'), 'a')) ?? '').split(' ');
    await bed.redis.hset(partition.key('deliveries'), 'a', `0 ${delivery} ${attempt} 1`);
    await bed.redis.zrem(partition.key('inflight'), 'a');
    await bed.redis.zadd(partition.key('scheduled'), '1', 'a');
    await producer.publish(TOPIC, null, { id: 'c' });
    await events.acked.first(({ id }) => id === 'c');
    await eventually(() => expect(a?.signal.reason).toMatchObject({ code: 'LEASE_LOST' }));
    expect(b?.signal.aborted).toBe(false);
    expect(jobs.ids.filter((ids) => ids.includes('a'))).toEqual([['a', 'b']]);

    gate.open();
    await events.acked.first(({ id }) => id === 'a');
    expect(jobs.ids).toEqual([['a', 'b'], ['c'], ['a']]);
    expect(jobs.calls[2]?.messages).toMatchObject([{ attempt: 2 }]);
    expect(events.acked.past.map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
    expect(events.stale.past).toMatchObject([{ id: 'a', attempt: 1 }]);
  });
});

describe('a batch that runs longer than its lease', () => {
  it('keeps every message of it, though another process waits for them', async () => {
    await publish(names(20));
    const first = await start({ batch: 20, lease: '1s' }, async () => setTimeout(1700));
    await first.jobs.called();
    const second = await start({ batch: 20, lease: '1s' });
    await first.events.acked.take(20);
    expect(first.jobs.sizes).toEqual([20]);
    expect(first.jobs.calls[0]?.messages.filter(({ signal }) => signal.aborted)).toEqual([]);
    expect(second.jobs.calls).toEqual([]);
  });
});

describe('closing an application while batches run', () => {
  it('gives back every message of what does not end in time, and no attempt is spent', async () => {
    await publish(names(30));
    const reasons: unknown[] = [];
    const first = await start({ shutdownTimeout: 200 }, async (messages, call) => {
      if (call > 1) reasons.push(...(await Promise.all(messages.map(async ({ signal }) => abortOf(signal)))));
    });
    await first.jobs.called(3);
    await first.events.acked.take(10);
    await first.app.close();
    expect(reasons).toMatchObject(Array(20).fill({ code: 'SHUTDOWN' }));
    expect(first.app.logs.warnings.join()).toContain('2 handlers still run after 200 ms');

    const second = await start();
    const redelivered = await second.events.acked.take(20);
    expect(redelivered.map(({ attempt }) => attempt)).toEqual(Array(20).fill(1));
    expect([...(first.jobs.ids[0] ?? []), ...second.jobs.ids.flat()].toSorted()).toEqual(names(30).toSorted());
  });
});
