import { DeliveryAbortedError, InvalidArgumentError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { Gate, abortOf, eventually } from '../support/waiting.js';

const bed = useBed();

async function start(partitions = 1) {
  const app = await bed.start({
    providers: [Jobs],
    options: { defaults: { partitions, backoff: { type: 'fixed', delay: 5 } } },
  });
  const { producer, events } = app;
  return { producer, events, jobs: app.get(Jobs), partition: bed.partition('jobs') };
}

describe('cancelling a waiting message', () => {
  it("answers 'cancelled', and it is never delivered", async () => {
    const { producer, events, jobs, partition } = await start();
    const { dueAt } = await producer.publish('jobs', 1, { id: 'a', delay: 400 });
    expect(await producer.cancel('jobs', 'a')).toBe('cancelled');
    expect(await partition.envelope('a')).toBeUndefined();
    expect(await partition.scheduled()).toEqual([]);

    // Due after 'a', in the same partition.
    await producer.publish('jobs', 2, { id: 'b', deliverAt: dueAt.getTime() + 20 });
    await events.acked.first(({ id }) => id === 'b');
    expect(jobs.ids).toEqual(['b']);
  });

  it("answers 'not-found' the second time", async () => {
    const { producer } = await start();
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    expect(await producer.cancel('jobs', 'a')).toBe('cancelled');
    expect(await producer.cancel('jobs', 'a')).toBe('not-found');
  });

  it('frees its id', async () => {
    const { producer, jobs } = await start();
    await producer.publish('jobs', 'old', { id: 'a', delay: '1h' });
    await producer.cancel('jobs', 'a');
    expect(await producer.publish('jobs', 'new', { id: 'a' })).toMatchObject({ duplicate: false });
    const [call] = await jobs.called();
    expect(call?.payload).toBe('new');
  });

  it('works between two attempts', async () => {
    const { producer, events, jobs, partition } = await start();
    jobs.respond = (payload) => {
      if (payload === 'bad') throw new Error('down');
    };
    await producer.publish('jobs', 'bad', { id: 'a', backoff: { type: 'fixed', delay: 300 } });
    await events.retried.first();
    const dueAt = await partition.dueAt('a');
    expect(await producer.cancel('jobs', 'a')).toBe('cancelled');
    await producer.publish('jobs', 'good', { id: 'b', deliverAt: (dueAt ?? NaN) + 20 });
    await events.acked.first(({ id }) => id === 'b');
    expect(jobs.ids).toEqual(['a', 'b']);
    expect(await bed.redis.exists(partition.key('errors'), partition.key('deliveries'))).toBe(0);
  });
});

describe('cancelling a message while it is being handled', () => {
  it("answers 'in-flight', and aborts the handler's signal with DeliveryAbortedError", async () => {
    const { producer, jobs, partition } = await start();
    const reasons: unknown[] = [];
    jobs.respond = async (_payload, { signal }) => reasons.push(await abortOf(signal));
    await producer.publish('jobs', 1, { id: 'a' });
    await jobs.called();
    expect(await producer.cancel('jobs', 'a')).toBe('in-flight');
    await eventually(() => expect(reasons).toHaveLength(1));
    expect(reasons[0]).toBeInstanceOf(DeliveryAbortedError);
    expect(reasons[0]).toMatchObject({ code: 'CANCELLED' });
    await eventually(async () => expect(await partition.inFlight()).toEqual([]));
  });

  it.each([
    { what: 'its abort reason', thrown: undefined },
    { what: 'another error', thrown: new Error('rolled back') },
  ])('is followed by no retry and no dead letter if the handler throws $what', async ({ thrown }) => {
    const { producer, events, jobs, partition } = await start();
    jobs.respond = async (payload, { signal }) => {
      if (payload !== 'cancelled') return;
      const reason = await abortOf(signal);
      throw thrown ?? reason;
    };
    await producer.publish('jobs', 'cancelled', { id: 'a' });
    await jobs.called();
    expect(await producer.cancel('jobs', 'a')).toBe('in-flight');
    await eventually(async () => expect(await partition.envelope('a')).toBeUndefined());

    // A retry would have been due before this.
    await producer.publish('jobs', 'next', { id: 'b', delay: 50 });
    await events.acked.first(({ id }) => id === 'b');
    expect(jobs.ids).toEqual(['a', 'b']);
    expect(events.retried.past).toEqual([]);
    expect(events.dead.past).toEqual([]);
    expect(events.stale.past).toEqual([]);
    expect(await partition.dead()).toEqual([]);
    expect(await bed.redis.exists(partition.key('messages'), partition.key('deliveries'))).toBe(0);
  });

  it('reaches a handler that asks for its signal only afterwards', async () => {
    const { producer, events, jobs } = await start();
    const gate = new Gate();
    const aborted: boolean[] = [];
    jobs.respond = async (payload, message) => {
      if (payload !== 'first') return;
      await gate.opened;
      aborted.push(message.signal.aborted);
    };
    await producer.publish('jobs', 'first', { id: 'a' });
    await jobs.called();
    expect(await producer.cancel('jobs', 'a')).toBe('in-flight');
    // Arrives on the same channel as the signal of the cancel, after it.
    await producer.publish('jobs', 'second', { id: 'b' });
    await events.acked.first(({ id }) => id === 'b');
    gate.open();
    await events.acked.first(({ id }) => id === 'a');
    expect(aborted).toEqual([true]);
  });

  it("leaves its id taken until the handler has ended, and answers 'in-flight' again", async () => {
    const { producer, events, jobs } = await start();
    const gate = new Gate();
    jobs.respond = async () => gate.opened;
    await producer.publish('jobs', 1, { id: 'a' });
    await jobs.called();
    expect(await producer.cancel('jobs', 'a')).toBe('in-flight');
    await expect(producer.publish('jobs', 2, { id: 'a' })).rejects.toMatchObject({ code: 'DUPLICATE_MESSAGE' });
    expect(await producer.cancel('jobs', 'a')).toBe('in-flight');
    gate.open();
    await events.acked.first();
    expect(await producer.cancel('jobs', 'a')).toBe('not-found');
    expect(await producer.publish('jobs', 2, { id: 'a' })).toMatchObject({ duplicate: false });
  });

  it('works from another process, which only publishes', async () => {
    const { producer, jobs } = await start();
    const other = await bed.start({ options: { consumer: false } });
    const reasons: unknown[] = [];
    jobs.respond = async (_payload, { signal }) => reasons.push(await abortOf(signal));
    await producer.publish('jobs', 1, { id: 'a' });
    await jobs.called();
    expect(await other.producer.cancel('jobs', 'a')).toBe('in-flight');
    await eventually(() => expect(reasons).toMatchObject([{ code: 'CANCELLED' }]));
  });
});

describe('cancelling by id', () => {
  it("answers 'not-found' if there is no such message, and leaves nothing behind", async () => {
    const { producer, partition } = await start();
    expect(await producer.cancel('jobs', 'nobody')).toBe('not-found');
    expect(await producer.cancel('jobs', { id: 'nobody', key: 'nowhere' })).toBe('not-found');
    expect(await bed.redis.exists(partition.key('deliveries'))).toBe(0);
    expect(await partition.counters()).toEqual({});
  });

  it("answers 'not-found' for a message that was handled, and for a dead letter", async () => {
    const { producer, events, jobs, partition } = await start();
    jobs.respond = (payload) => {
      if (payload === 'bad') throw new Error('down');
    };
    await producer.publish('jobs', 'good', { id: 'a' });
    await producer.publish('jobs', 'bad', { id: 'b', attempts: 1 });
    await events.acked.first();
    await events.dead.first();
    expect(await producer.cancel('jobs', 'a')).toBe('not-found');
    expect(await producer.cancel('jobs', 'b')).toBe('not-found');
    expect(await partition.dead()).toEqual(['b']);
  });

  it('and key cancels only the message with this key', async () => {
    const { producer } = await start(8);
    for (const key of ['x', 'y']) await producer.publish('jobs', key, { id: 'a', key, delay: '1h' });
    await producer.publish('jobs', 'own', { id: 'a', delay: '1h' });
    expect(await producer.cancel('jobs', { id: 'a', key: 'x' })).toBe('cancelled');
    expect(await producer.cancel('jobs', { id: 'a', key: 'x' })).toBe('not-found');
    expect(await producer.cancel('jobs', { id: 'a', key: 'a' })).toBe('cancelled');
    expect(await producer.cancel('jobs', { id: 'a', key: 'y' })).toBe('cancelled');
  });

  it('alone finds a message with a key in another partition', async () => {
    const { producer, jobs } = await start(8);
    const plain = await producer.publish('jobs', 0, { id: 'a', delay: '1h' });
    await producer.cancel('jobs', 'a');
    const places = new Set<number>();
    for (const key of Array.from({ length: 20 }, (_, i) => `key-${i}`)) {
      const { partition = NaN } = await producer.publish('jobs', 1, { id: 'a', key, delay: '1h' });
      places.add(partition);
      expect(await bed.partition('jobs', partition).scheduled()).toEqual([`a\0${key}`]);
      expect(await producer.cancel('jobs', 'a')).toBe('cancelled');
      expect(await bed.partition('jobs', partition).scheduled()).toEqual([]);
    }
    places.delete(plain.partition ?? NaN);
    expect(places.size).toBeGreaterThan(3);
    expect(await producer.cancel('jobs', 'a')).toBe('not-found');
    expect(jobs.calls).toEqual([]);
    expect((await bed.keys()).filter((key) => key.endsWith(':keyed'))).toEqual([]);
  });

  it('alone does not cancel a message whose id only begins with it', async () => {
    const { producer } = await start(8);
    await producer.publish('jobs', 1, { id: 'ab', key: 'k', delay: '1h' });
    expect(await producer.cancel('jobs', 'a')).toBe('not-found');
    expect(await producer.cancel('jobs', 'ab')).toBe('cancelled');
  });

  it('alone aborts a message with a key that is being handled', async () => {
    const { producer, jobs } = await start(8);
    const reasons: unknown[] = [];
    jobs.respond = async (_payload, { signal }) => reasons.push(await abortOf(signal));
    await producer.publish('jobs', 1, { id: 'a', key: 'k' });
    await jobs.called();
    expect(await producer.cancel('jobs', 'a')).toBe('in-flight');
    await eventually(() => expect(reasons).toMatchObject([{ code: 'CANCELLED' }]));
  });

  it.each([
    { what: 'an empty id', id: '' },
    { what: 'a number', id: 42 as unknown as string },
    { what: 'a missing key', id: { id: 'a' } as unknown as string },
    { what: 'null', id: null as unknown as string },
  ])('refuses $what', async ({ id }) => {
    const { producer } = await start();
    await expect(producer.cancel('jobs', id)).rejects.toThrow(InvalidArgumentError);
    await expect(producer.cancel('jobs', id)).rejects.toThrow(/1 to 256 characters.*Given: /);
  });
});
