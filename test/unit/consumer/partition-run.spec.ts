import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../../lib/broker/broker.interface.js';
import { LEASE } from './support/handling.js';
import { type BenchCall, RunBench } from './support/run-bench.js';
import { turns } from './support/test-claimant.js';

describe('PartitionRun without batches', () => {
  it('calls the handler with one message each, a slot for each', async () => {
    const bench = new RunBench();

    expect(bench.take(['a', 'b', 'c'], 5)).toBe(3);
    expect(bench.called).toEqual([['a'], ['b'], ['c']]);
    bench.call(1).resolve();
    expect(await bench.outcomes()).toEqual([['b', 'ack']]);
    expect(bench.slotsFree).toBe(1);
    expect(bench.running).toEqual(['a', 'c']);
  });

  it('takes what looks like results of a batch for any other value', async () => {
    const bench = new RunBench();
    bench.take(['a'], 1);
    bench.call(0).resolve([{ status: 'rejected', reason: new Error('none of its business') }]);

    expect(await bench.outcomes()).toEqual([['a', 'ack']]);
  });

  it('keeps a redelivery waiting in its slot until the run before it has ended', async () => {
    const bench = new RunBench();
    bench.take(['a'], 1);
    const { signal } = bench.call(0).messages[0] ?? {};

    expect(bench.take(['a', 'b'], 2)).toBe(2);
    expect(bench.called).toEqual([['a'], ['b']]);
    expect(signal?.reason).toMatchObject({ code: 'LEASE_LOST' });
    bench.call(0).resolve();
    await turns();
    expect(bench.called).toEqual([['a'], ['b'], ['a']]);
    bench.call(1).resolve();
    bench.call(2).resolve();
    expect(await bench.outcomes()).toHaveLength(3);
    expect(bench.slotsFree).toBe(3);
    expect(bench.run.running.size).toBe(0);
  });
});

describe('PartitionRun with batches', () => {
  it('calls the handler with as many messages as there are, at most a batch, and says how many slots that takes', () => {
    const bench = new RunBench({ batch: 3 });

    expect(bench.take(['a'], 4)).toBe(1);
    expect(bench.take(['b', 'c', 'd', 'e', 'f', 'g', 'h'], 4)).toBe(3);
    expect(bench.called).toEqual([['a'], ['b', 'c', 'd'], ['e', 'f', 'g'], ['h']]);
  });

  it('frees one slot a call, when the call has ended', async () => {
    const bench = new RunBench({ batch: 3 });
    bench.take(['a', 'b', 'c', 'd'], 2);
    bench.call(0).resolve();

    expect(await bench.outcomes()).toEqual([
      ['a', 'ack'],
      ['b', 'ack'],
      ['c', 'ack'],
    ]);
    expect(bench.slotsFree).toBe(1);
    bench.call(1).reject(new Error('down'));
    expect(await bench.outcomes()).toContainEqual(['d', 'retry']);
    expect(bench.slotsFree).toBe(2);
  });

  it('tells events of each message', async () => {
    const bench = new RunBench({ batch: 3 });
    bench.take(['a', 'b'], 1);
    bench.call(0).resolve([{ status: 'fulfilled' }, { status: 'rejected', reason: new Error('down') }]);
    await bench.outcomes();

    expect(bench.events).toEqual([
      ['delivered', 'a'],
      ['delivered', 'b'],
      ['acked', 'a'],
      ['retried', 'b'],
    ]);
  });

  it('gives the handler arrays that it may change', async () => {
    const bench = new RunBench({ batch: 3 });
    bench.take(['a', 'b'], 1);
    (bench.call(0).messages as unknown[]).length = 0;
    bench.call(0).resolve([{ status: 'fulfilled' }, { status: 'fulfilled' }]);

    expect(await bench.outcomes()).toEqual([
      ['a', 'ack'],
      ['b', 'ack'],
    ]);
  });

  describe('checks each message before the call', () => {
    it('and calls with those that are left', async () => {
      const bench = new RunBench({ batch: 10 });
      const lost = bench.delivery('lost');
      lost.leaseEndsAt = bench.clock.now();
      const undecodable = bench.delivery('undecodable');
      Object.assign(undecodable, { envelope: 'no JSON' });
      const deliveries = [
        bench.delivery('a'),
        bench.delivery('expired', { expireAfter: 10, late: 11 }),
        bench.delivery('in time', { expireAfter: 10, late: 10 }),
        undecodable,
        lost,
        bench.delivery('crashed', { attempt: 4 }),
        bench.delivery('own attempts', { attempt: 4, attempts: 4 }),
      ];

      expect(bench.run.take(deliveries, 1)).toBe(1);
      expect(await bench.outcomes()).toEqual([
        ['expired', 'dead'],
        ['undecodable', 'dead'],
        ['lost', 'release'],
        ['crashed', 'dead'],
      ]);
      expect(await bench.failureOf('crashed')).toMatchObject({ reason: 'crashed' });
      expect(bench.called).toEqual([['a', 'in time', 'own attempts']]);
      expect(bench.slotsFree).toBe(0);
      expect(bench.running).toEqual(['a', 'in time', 'own attempts']);
      bench.call(0).resolve([{ status: 'fulfilled' }, { status: 'fulfilled' }, { status: 'fulfilled' }]);
      await turns();
      expect(bench.slotsFree).toBe(1);
    });

    it('and does not call where none is left', async () => {
      const bench = new RunBench({ batch: 10, settings: { expireAfter: 10 } });
      const deliveries = ['a', 'b'].map((id) => bench.delivery(id, { late: 20 }));
      bench.run.take(deliveries, 1);

      expect(await bench.outcomes()).toEqual([
        ['a', 'dead'],
        ['b', 'dead'],
      ]);
      expect(bench.called).toEqual([]);
      expect(bench.slotsFree).toBe(1);
      expect(bench.run.running.size).toBe(0);
    });

    it('and does not call with what was given back while a check took its time', async () => {
      const bench = new RunBench({ batch: 10 });
      const answers: ((stored: StoredMessage | undefined) => void)[] = [];
      bench.lookUp = async () => new Promise((resolve) => answers.push(resolve));
      bench.run.take([bench.delivery('a'), bench.delivery('crashed', { attempt: 4 })], 1);
      bench.run.releaseAll();
      expect(answers).toHaveLength(1);
      answers[0]?.(undefined);

      expect(await bench.outcomes()).toEqual([
        ['a', 'release'],
        ['crashed', 'release'],
      ]);
      expect(bench.called).toEqual([]);
      expect(bench.slotsFree).toBe(1);
      expect(bench.run.running.size).toBe(0);
    });
  });

  describe('where an earlier delivery of a message still runs', () => {
    it('calls with the others at once, and with that message when the earlier run has ended', async () => {
      const bench = new RunBench({ batch: 3 });
      bench.take(['a', 'b'], 1);

      expect(bench.take(['b', 'c', 'd'], 2)).toBe(2);
      expect(bench.called).toEqual([
        ['a', 'b'],
        ['c', 'd'],
      ]);
      const [a, b] = bench.call(0).messages;
      expect([a?.signal.aborted, b?.signal.reason]).toMatchObject([false, { code: 'LEASE_LOST' }]);
      bench.call(0).resolve();
      await turns();
      expect(bench.called).toEqual([['a', 'b'], ['c', 'd'], ['b']]);
      bench.call(1).resolve();
      bench.call(2).resolve();
      await turns();
      expect(bench.slotsFree).toBe(3);
      expect(bench.run.running.size).toBe(0);
    });

    it('gives that message back where the others need all slots', async () => {
      const bench = new RunBench({ batch: 3 });
      bench.take(['a', 'b'], 1);

      expect(bench.take(['b', 'c'], 1)).toBe(1);
      expect(bench.called).toEqual([['a', 'b'], ['c']]);
      expect(await bench.outcomes()).toEqual([['b', 'release']]);
      bench.call(0).resolve();
      bench.call(1).resolve();
      await turns();
      expect(bench.called).toHaveLength(2);
      expect(bench.slotsFree).toBe(2);
      // It comes again, and nothing is in its way.
      expect(bench.take(['b'], 1)).toBe(1);
      expect(bench.called.at(-1)).toEqual(['b']);
    });

    it('keeps those together that wait for the same run, and only those', async () => {
      const bench = new RunBench({ batch: 3 });
      bench.take(['a', 'b', 'c'], 1);
      bench.take(['d', 'e'], 1);

      expect(bench.take(['b', 'd', 'c'], 5)).toBe(2);
      bench.call(1).resolve();
      await turns();
      expect(bench.called.slice(2)).toEqual([['d']]);
      bench.call(0).resolve();
      await turns();
      expect(bench.called.slice(2)).toEqual([['d'], ['b', 'c']]);
    });

    it('never calls with a message that was given back while it waited', async () => {
      const bench = new RunBench({ batch: 3 });
      bench.take(['a', 'b'], 1);
      bench.take(['b'], 1);
      bench.run.releaseAll();
      expect(bench.slotsFree).toBe(1);
      bench.call(0).resolve();
      await turns();

      expect(bench.called).toEqual([['a', 'b']]);
      expect(bench.slotsFree).toBe(2);
      expect(bench.run.running.size).toBe(0);
    });
  });

  describe('limits the time of a call', () => {
    it('to the smallest timeout of its messages, which all fail then', async () => {
      const bench = new RunBench({ batch: 3, settings: { timeout: 500 } });
      const deliveries = [bench.delivery('a'), bench.delivery('b', { timeout: 100 }), bench.delivery('c')];
      bench.run.take(deliveries, 1);
      const signals = bench.call(0).messages.map(({ signal }) => signal);
      await bench.clock.advance(99);
      expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
      await bench.clock.advance(1);

      const reason = { code: 'HANDLER_TIMEOUT', timeout: 100 };
      expect(signals.map((signal) => signal.reason as unknown)).toMatchObject([reason, reason, reason]);
      expect(await bench.outcomes()).toEqual([
        ['a', 'retry'],
        ['b', 'retry'],
        ['c', 'retry'],
      ]);
      expect(bench.slotsFree).toBe(1);
      // What still runs keeps its messages from running twice.
      expect(bench.run.running.size).toBe(3);
      bench.call(0).resolve();
      await turns();
      expect(await bench.outcomes()).toHaveLength(3);
      expect(bench.slotsFree).toBe(1);
      expect(bench.run.running.size).toBe(0);
    });

    it('and asks a backoff function once, though the handler throws afterwards', async () => {
      const asked: unknown[] = [];
      const backoff = (attempt: number, error: unknown): number => asked.push([attempt, (error as Error).name]);
      const bench = new RunBench({ batch: 3, settings: { timeout: 500, backoff } });
      bench.take(['a', 'b'], 1);
      await bench.clock.advance(500);
      bench.call(0).reject(new Error('down'));
      await turns();

      expect(asked).toEqual([
        [1, 'HandlerTimeoutError'],
        [1, 'HandlerTimeoutError'],
      ]);
    });

    it('not beyond its end', async () => {
      const bench = new RunBench({ batch: 3, settings: { timeout: 500 } });
      bench.take(['a', 'b'], 1);
      const [message] = bench.call(0).messages;
      bench.call(0).resolve();
      await bench.clock.advance(LEASE);

      expect(message?.signal.aborted).toBe(false);
      expect(bench.clock.nextTimerAt).toBeUndefined();
    });
  });

  it('gives back every message that still runs, and frees their slots once', async () => {
    const bench = new RunBench({ batch: 2 });
    bench.take(['a', 'b', 'c'], 2);
    const signals = bench.calls.flatMap(({ messages }) => messages.map(({ signal }) => signal));
    bench.run.releaseAll();

    expect(signals.map((signal) => signal.reason as unknown)).toMatchObject(
      ['a', 'b', 'c'].map(() => ({ code: 'SHUTDOWN' })),
    );
    expect(bench.slotsFree).toBe(2);
    for (const call of bench.calls) call.resolve();
    expect(await bench.outcomes()).toEqual([
      ['a', 'release'],
      ['b', 'release'],
      ['c', 'release'],
    ]);
    expect(bench.slotsFree).toBe(2);
  });
});

/** Has a batch handled: `a` may be tried again, `b` and `c` may not. */
async function end(settle: (call: BenchCall) => void) {
  const bench = new RunBench({ batch: 3 });
  const deliveries = [bench.delivery('a'), bench.delivery('b', { attempt: 3 }), bench.delivery('c', { attempts: 1 })];
  bench.run.take(deliveries, 1);
  settle(bench.call(0));
  return { outcomes: await bench.outcomes(), failure: await bench.failureOf('a') };
}

describe('the end of a call of a batch', () => {
  it.each([
    { what: 'nothing', value: undefined },
    { what: 'an array of anything', value: [1, 2] },
    { what: 'an empty array', value: [] },
  ])('with $what acknowledges all', async ({ value }) => {
    const { outcomes } = await end((call) => call.resolve(value));

    expect(outcomes.map(([, kind]) => kind)).toEqual(['ack', 'ack', 'ack']);
  });

  it('with an error counts for each message by its own attempts', async () => {
    const { outcomes } = await end((call) => call.reject(new Error('down')));

    expect(outcomes).toEqual([
      ['a', 'retry'],
      ['b', 'dead'],
      ['c', 'dead'],
    ]);
  });

  it('with results for fewer messages fails all of them', async () => {
    const { outcomes, failure } = await end((call) => call.resolve([{ status: 'fulfilled' }]));

    expect(outcomes.map(([, kind]) => kind)).toEqual(['retry', 'dead', 'dead']);
    expect(failure).toMatchObject({ name: 'InvalidArgumentError', code: 'INVALID_ARGUMENT' });
  });
});
