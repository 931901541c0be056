import {
  type DelayedMessage,
  HandlerTimeoutError,
  InvalidArgumentError,
  RetryLaterError,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { BATCH_TOPIC, type BatchSetup, publishDue, startBatches } from '../support/app/batch-bed.js';
import { useBed } from '../support/app/bed.js';
import { Gate, abortOf, eventually } from '../support/waiting.js';

const bed = useBed();

function attemptsOf(events: readonly { readonly id: string; readonly attempt: number }[]): Record<string, number> {
  return Object.fromEntries(events.map(({ id, attempt }) => [id, attempt]));
}

/** The message's id decides its outcome. */
async function byName({ id }: DelayedMessage): Promise<void> {
  if (id === 'broken') throw new Error('down');
  if (id === 'hopeless') throw new UnrecoverableError('gone');
  if (id === 'busy') throw new RetryLaterError(20);
}

describe('the outcome of a batch', () => {
  it('is the same for all if the handler throws: each is retried with its own settings', async () => {
    await publishDue(bed, {
      plain: {},
      last: { attempts: 1 },
      slow: { backoff: { type: 'fixed', delay: 30 } },
    });
    const { jobs, events, partition } = await startBatches(bed, {}, ([message]) => {
      if (message?.attempt === 1) throw new Error('down');
    });
    await events.acked.take(2);
    expect(jobs.ids[0]?.toSorted()).toEqual(['last', 'plain', 'slow']);
    expect(Object.fromEntries(events.retried.past.map(({ id, delay }) => [id, delay]))).toEqual({
      plain: 10,
      slow: 30,
    });
    expect(events.retried.past.map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(events.retried.past[0]?.error).toEqual(new Error('down'));
    expect(attemptsOf(events.acked.past)).toEqual({ plain: 2, slow: 2 });
    expect(await partition.dead()).toEqual(['last']);
    expect(await partition.failure('last')).toMatchObject({ reason: 'failed', message: 'down' });
  });

  it('is dead for all if it throws UnrecoverableError', async () => {
    await publishDue(bed, ['a', 'b']);
    const { jobs, events, partition } = await startBatches(bed, {}, () => {
      throw new UnrecoverableError('no such table');
    });
    await events.dead.take(2);
    expect(await partition.dead()).toEqual(['a', 'b']);
    expect(await partition.failure('b')).toMatchObject({ reason: 'unrecoverable', message: 'no such table' });
    expect(jobs.calls).toHaveLength(1);
  });

  it('is later for all if it throws RetryLaterError, and no attempt is spent', async () => {
    await publishDue(bed, ['a', 'b']);
    const { events } = await startBatches(bed, { attempts: 1 }, (_messages, call) => {
      if (call === 1) throw new RetryLaterError(30);
    });
    const acked = await events.acked.take(2);
    expect(acked.map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(events.retried.past.map(({ delay }) => delay)).toEqual([30, 30]);
    expect(events.dead.past).toEqual([]);
  });

  it('is one for each if it returns what Promise.allSettled() gives', async () => {
    await publishDue(bed, ['fine', 'broken', 'hopeless', 'busy', 'well']);
    const { jobs, events, partition } = await startBatches(bed, { attempts: 3 }, (messages, call) =>
      call === 1 ? Promise.allSettled(messages.map(byName)) : undefined,
    );
    await events.acked.take(4);

    expect(jobs.sizes[0]).toBe(5);
    expect(attemptsOf(events.acked.past)).toEqual({ fine: 1, broken: 2, busy: 1, well: 1 });
    expect(Object.fromEntries(events.retried.past.map(({ id, delay }) => [id, delay]))).toEqual({
      broken: 10,
      busy: 20,
    });
    expect(await partition.dead()).toEqual(['hopeless']);
    expect(await partition.failure('hopeless')).toMatchObject({ reason: 'unrecoverable', message: 'gone' });
  });

  it('is an error if the number of results differs from the number of messages', async () => {
    await publishDue(bed, ['a', 'b', 'c']);
    const { events } = await startBatches(bed, {}, (messages, call) =>
      call === 1 ? Promise.allSettled(messages.slice(1).map(async ({ id }) => id)) : undefined,
    );
    await events.acked.take(3);
    expect(events.retried.past).toHaveLength(3);
    const [{ error } = {}] = events.retried.past;
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toContain('called with 3 messages and returned 2 results');
  });

  it.each<{ what: string; result: unknown }>([
    { what: 'the results of Promise.all()', result: ['done', 'done'] },
    { what: 'results that only look similar', result: [{ status: 'rejected' }, { status: 'shipped' }] },
    { what: 'an empty array', result: [] },
  ])('is an acknowledgement of all if it returns $what', async ({ result }) => {
    await publishDue(bed, ['a', 'b', 'c']);
    const { jobs, events } = await startBatches(bed, {}, () => result);
    await events.acked.take(3);
    expect(jobs.calls).toHaveLength(1);
    expect(events.retried.past).toEqual([]);
  });
});

describe('a batch that runs past its time limit', () => {
  it('fails with all its messages at the smallest timeout, and gives its slot back', async () => {
    await publishDue(bed, { a: {}, b: { timeout: 50 }, c: { timeout: '1h' } });
    const gate = new Gate();
    const reasons: unknown[] = [];
    const setup: BatchSetup = { concurrency: 1, timeout: '10s', backoff: { type: 'fixed', delay: '1h' } };
    const { jobs, events, producer } = await startBatches(bed, setup, async (messages, call) => {
      if (call > 1) return;
      reasons.push(...(await Promise.all(messages.map(async ({ signal }) => abortOf(signal)))));
      await gate.opened;
    });
    const retried = await events.retried.take(3);
    expect(new Set(retried.map(({ error }) => error)).size).toBe(1);
    expect(retried[0]?.error).toBeInstanceOf(HandlerTimeoutError);
    expect(retried[0]?.error).toMatchObject({ timeout: 50 });
    expect(reasons).toEqual(retried.map(({ error }) => error));
    // The function still runs, and there is only one slot.
    await producer.publish(BATCH_TOPIC, 4, { id: 'd' });
    await events.acked.first(({ id }) => id === 'd');
    expect(jobs.running).toBe(1);
    gate.open();
    await eventually(() => expect(jobs.running).toBe(0));
    expect(events.acked.past).toHaveLength(1);
    expect(events.stale.past).toEqual([]);
  });
});

const MINUTE = 60_000;

describe('one message of a batch', () => {
  it('that expired is a dead letter, and is not handed over', async () => {
    await publishDue(bed, []);
    for (const [id, expireAfter] of Object.entries({ a: undefined, late: '1s', b: '1h' })) {
      await bed.publishLate(BATCH_TOPIC, null, MINUTE, { id, ...(expireAfter && { expireAfter }) });
    }
    const { jobs, events, partition } = await startBatches(bed);
    await events.acked.take(2);
    expect(jobs.ids).toEqual([['a', 'b']]);
    expect(await events.dead.first()).toMatchObject({ id: 'late', failure: { reason: 'expired' } });
    expect(await partition.dead()).toEqual(['late']);
  });

  it('that has expired and is alone leads to no call', async () => {
    await publishDue(bed, []);
    await bed.publishLate(BATCH_TOPIC, null, MINUTE, { id: 'late', expireAfter: '1s' });
    const { jobs, events, producer } = await startBatches(bed, { concurrency: 1 });
    await events.dead.first();
    await producer.publish(BATCH_TOPIC, null, { id: 'next' });
    await events.acked.first();
    expect(jobs.ids).toEqual([['next']]);
  });

  it('that is cancelled has its own signal aborted, and no retry follows', async () => {
    await publishDue(bed, ['a', 'b', 'c']);
    const reasons: unknown[] = [];
    const aborted: boolean[] = [];
    const { jobs, events, producer, partition } = await startBatches(bed, {}, async (messages, call) => {
      if (call > 1) return;
      reasons.push(await Promise.race(messages.map(async ({ signal }) => abortOf(signal))));
      aborted.push(...messages.map(({ signal }) => signal.aborted));
      throw new Error('rolled back');
    });
    await jobs.called();
    expect(await producer.cancel(BATCH_TOPIC, 'b')).toBe('in-flight');
    await events.acked.take(2);
    expect(reasons).toMatchObject([{ code: 'CANCELLED' }]);
    expect(aborted).toEqual([false, true, false]);
    expect(jobs.ids.slice(1).flat().toSorted()).toEqual(['a', 'c']);
    const errors = Object.fromEntries(events.retried.past.map(({ id, error }) => [id, (error as Error).message]));
    expect(errors).toEqual({ a: 'rolled back', c: 'rolled back' });
    expect(await partition.envelope('b')).toBeUndefined();
  });

  it('that loses its lease waits for the end of the batch, and holds up nothing else', async () => {
    await publishDue(bed, ['a', 'b']);
    const gate = new Gate();
    const { jobs, events, producer, partition } = await startBatches(bed, { lease: '1s' }, async (_messages, call) =>
      call === 1 ? gate.opened : undefined,
    );
    const [call] = await jobs.called();
    const [a, b] = call?.messages ?? [];

    // As if its lease had ended: the receipt of the running delivery no longer fits.
    const [, delivery = '', attempt = ''] = ((await bed.redis.hget(partition.key('deliveries'), 'a')) ?? '').split(' ');
    await bed.redis.hset(partition.key('deliveries'), 'a', `0 ${delivery} ${attempt} 1`);
    await bed.redis.zrem(partition.key('inflight'), 'a');
    await bed.redis.zadd(partition.key('scheduled'), '1', 'a');
    await producer.publish(BATCH_TOPIC, null, { id: 'c' });
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
