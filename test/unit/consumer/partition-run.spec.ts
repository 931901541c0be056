import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../../lib/broker/broker.interface.js';
import { LEASE } from '../../support/units/handling.js';
import { type BedCall, RunBed } from '../../support/units/run-bed.js';
import { turns } from '../../support/units/test-claimant.js';

describe('PartitionRun without batches', () => {
  it('calls the handler with one message each, a slot for each', async () => {
    const bed = new RunBed();

    expect(bed.take(['a', 'b', 'c'], 5)).toBe(3);
    expect(bed.called).toEqual([['a'], ['b'], ['c']]);
    bed.call(1).resolve();
    expect(await bed.outcomes()).toEqual([['b', 'ack']]);
    expect(bed.slotsFree).toBe(1);
    expect(bed.running).toEqual(['a', 'c']);
  });

  it('takes what looks like results of a batch for any other value', async () => {
    const bed = new RunBed();
    bed.take(['a'], 1);
    bed.call(0).resolve([{ status: 'rejected', reason: new Error('none of its business') }]);

    expect(await bed.outcomes()).toEqual([['a', 'ack']]);
  });

  it('keeps a redelivery waiting in its slot until the run before it has ended', async () => {
    const bed = new RunBed();
    bed.take(['a'], 1);
    const { signal } = bed.call(0).messages[0] ?? {};

    expect(bed.take(['a', 'b'], 2)).toBe(2);
    expect(bed.called).toEqual([['a'], ['b']]);
    expect(signal?.reason).toMatchObject({ code: 'LEASE_LOST' });
    bed.call(0).resolve();
    await turns();
    expect(bed.called).toEqual([['a'], ['b'], ['a']]);
    bed.call(1).resolve();
    bed.call(2).resolve();
    expect(await bed.outcomes()).toHaveLength(3);
    expect(bed.slotsFree).toBe(3);
    expect(bed.run.running.size).toBe(0);
  });
});

describe('PartitionRun with batches', () => {
  it('calls the handler with as many messages as there are, at most a batch, and says how many slots that takes', () => {
    const bed = new RunBed({ batch: 3 });

    expect(bed.take(['a'], 4)).toBe(1);
    expect(bed.take(['b', 'c', 'd', 'e', 'f', 'g', 'h'], 4)).toBe(3);
    expect(bed.called).toEqual([['a'], ['b', 'c', 'd'], ['e', 'f', 'g'], ['h']]);
  });

  it('frees one slot a call, when the call has ended', async () => {
    const bed = new RunBed({ batch: 3 });
    bed.take(['a', 'b', 'c', 'd'], 2);
    bed.call(0).resolve();

    expect(await bed.outcomes()).toEqual([
      ['a', 'ack'],
      ['b', 'ack'],
      ['c', 'ack'],
    ]);
    expect(bed.slotsFree).toBe(1);
    bed.call(1).reject(new Error('down'));
    expect(await bed.outcomes()).toContainEqual(['d', 'retry']);
    expect(bed.slotsFree).toBe(2);
  });

  it('tells events of each message', async () => {
    const bed = new RunBed({ batch: 3 });
    bed.take(['a', 'b'], 1);
    bed.call(0).resolve([{ status: 'fulfilled' }, { status: 'rejected', reason: new Error('down') }]);
    await bed.outcomes();

    expect(bed.events).toEqual([
      ['delivered', 'a'],
      ['delivered', 'b'],
      ['acked', 'a'],
      ['retried', 'b'],
    ]);
  });

  it('gives the handler arrays that it may change', async () => {
    const bed = new RunBed({ batch: 3 });
    bed.take(['a', 'b'], 1);
    (bed.call(0).messages as unknown[]).length = 0;
    bed.call(0).resolve([{ status: 'fulfilled' }, { status: 'fulfilled' }]);

    expect(await bed.outcomes()).toEqual([
      ['a', 'ack'],
      ['b', 'ack'],
    ]);
  });

  describe('checks each message before the call', () => {
    it('and calls with those that are left', async () => {
      const bed = new RunBed({ batch: 10 });
      const lost = bed.delivery('lost');
      lost.leaseEndsAt = bed.clock.now();
      const undecodable = bed.delivery('undecodable');
      Object.assign(undecodable, { envelope: 'no JSON' });
      const deliveries = [
        bed.delivery('a'),
        bed.delivery('expired', { expireAfter: 10, late: 11 }),
        bed.delivery('in time', { expireAfter: 10, late: 10 }),
        undecodable,
        lost,
        bed.delivery('crashed', { attempt: 4 }),
        bed.delivery('own attempts', { attempt: 4, attempts: 4 }),
      ];

      expect(bed.run.take(deliveries, 1)).toBe(1);
      expect(await bed.outcomes()).toEqual([
        ['expired', 'dead'],
        ['undecodable', 'dead'],
        ['lost', 'release'],
        ['crashed', 'dead'],
      ]);
      expect(await bed.failureOf('crashed')).toMatchObject({ reason: 'crashed' });
      expect(bed.called).toEqual([['a', 'in time', 'own attempts']]);
      expect(bed.slotsFree).toBe(0);
      expect(bed.running).toEqual(['a', 'in time', 'own attempts']);
      bed.call(0).resolve([{ status: 'fulfilled' }, { status: 'fulfilled' }, { status: 'fulfilled' }]);
      await turns();
      expect(bed.slotsFree).toBe(1);
    });

    it('and does not call where none is left', async () => {
      const bed = new RunBed({ batch: 10, settings: { expireAfter: 10 } });
      const deliveries = ['a', 'b'].map((id) => bed.delivery(id, { late: 20 }));
      bed.run.take(deliveries, 1);

      expect(await bed.outcomes()).toEqual([
        ['a', 'dead'],
        ['b', 'dead'],
      ]);
      expect(bed.called).toEqual([]);
      expect(bed.slotsFree).toBe(1);
      expect(bed.run.running.size).toBe(0);
    });

    it('and does not call with what was given back while a check took its time', async () => {
      const bed = new RunBed({ batch: 10 });
      const answers: ((stored: StoredMessage | undefined) => void)[] = [];
      bed.lookUp = async () => new Promise((resolve) => answers.push(resolve));
      bed.run.take([bed.delivery('a'), bed.delivery('crashed', { attempt: 4 })], 1);
      bed.run.releaseAll();
      expect(answers).toHaveLength(1);
      answers[0]?.(undefined);

      expect(await bed.outcomes()).toEqual([
        ['a', 'release'],
        ['crashed', 'release'],
      ]);
      expect(bed.called).toEqual([]);
      expect(bed.slotsFree).toBe(1);
      expect(bed.run.running.size).toBe(0);
    });
  });

  describe('if an earlier delivery of a message still runs', () => {
    it('calls with the others at once, and with that message when the earlier run has ended', async () => {
      const bed = new RunBed({ batch: 3 });
      bed.take(['a', 'b'], 1);

      expect(bed.take(['b', 'c', 'd'], 2)).toBe(2);
      expect(bed.called).toEqual([
        ['a', 'b'],
        ['c', 'd'],
      ]);
      const [a, b] = bed.call(0).messages;
      expect([a?.signal.aborted, b?.signal.reason]).toMatchObject([false, { code: 'LEASE_LOST' }]);
      bed.call(0).resolve();
      await turns();
      expect(bed.called).toEqual([['a', 'b'], ['c', 'd'], ['b']]);
      bed.call(1).resolve();
      bed.call(2).resolve();
      await turns();
      expect(bed.slotsFree).toBe(3);
      expect(bed.run.running.size).toBe(0);
    });

    it('gives that message back where the others need all slots', async () => {
      const bed = new RunBed({ batch: 3 });
      bed.take(['a', 'b'], 1);

      expect(bed.take(['b', 'c'], 1)).toBe(1);
      expect(bed.called).toEqual([['a', 'b'], ['c']]);
      expect(await bed.outcomes()).toEqual([['b', 'release']]);
      bed.call(0).resolve();
      bed.call(1).resolve();
      await turns();
      expect(bed.called).toHaveLength(2);
      expect(bed.slotsFree).toBe(2);
      // It comes again, and nothing is in its way.
      expect(bed.take(['b'], 1)).toBe(1);
      expect(bed.called.at(-1)).toEqual(['b']);
    });

    it('keeps those together that wait for the same run, and only those', async () => {
      const bed = new RunBed({ batch: 3 });
      bed.take(['a', 'b', 'c'], 1);
      bed.take(['d', 'e'], 1);

      expect(bed.take(['b', 'd', 'c'], 5)).toBe(2);
      bed.call(1).resolve();
      await turns();
      expect(bed.called.slice(2)).toEqual([['d']]);
      bed.call(0).resolve();
      await turns();
      expect(bed.called.slice(2)).toEqual([['d'], ['b', 'c']]);
    });

    it('never calls with a message that was given back while it waited', async () => {
      const bed = new RunBed({ batch: 3 });
      bed.take(['a', 'b'], 1);
      bed.take(['b'], 1);
      bed.run.releaseAll();
      expect(bed.slotsFree).toBe(1);
      bed.call(0).resolve();
      await turns();

      expect(bed.called).toEqual([['a', 'b']]);
      expect(bed.slotsFree).toBe(2);
      expect(bed.run.running.size).toBe(0);
    });
  });

  describe('limits the time of a call', () => {
    it('to the smallest timeout of its messages, which all fail then', async () => {
      const bed = new RunBed({ batch: 3, settings: { timeout: 500 } });
      const deliveries = [bed.delivery('a'), bed.delivery('b', { timeout: 100 }), bed.delivery('c')];
      bed.run.take(deliveries, 1);
      const signals = bed.call(0).messages.map(({ signal }) => signal);
      await bed.clock.advance(99);
      expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
      await bed.clock.advance(1);

      const reason = { code: 'HANDLER_TIMEOUT', timeout: 100 };
      expect(signals.map((signal) => signal.reason as unknown)).toMatchObject([reason, reason, reason]);
      expect(await bed.outcomes()).toEqual([
        ['a', 'retry'],
        ['b', 'retry'],
        ['c', 'retry'],
      ]);
      expect(bed.slotsFree).toBe(1);
      // What still runs keeps its messages from running twice.
      expect(bed.run.running.size).toBe(3);
      bed.call(0).resolve();
      await turns();
      expect(await bed.outcomes()).toHaveLength(3);
      expect(bed.slotsFree).toBe(1);
      expect(bed.run.running.size).toBe(0);
    });

    it('and calls a backoff function once, even if the handler throws afterwards', async () => {
      const asked: unknown[] = [];
      const backoff = (attempt: number, error: unknown): number => asked.push([attempt, (error as Error).name]);
      const bed = new RunBed({ batch: 3, settings: { timeout: 500, backoff } });
      bed.take(['a', 'b'], 1);
      await bed.clock.advance(500);
      bed.call(0).reject(new Error('down'));
      await turns();

      expect(asked).toEqual([
        [1, 'HandlerTimeoutError'],
        [1, 'HandlerTimeoutError'],
      ]);
    });

    it('not beyond its end', async () => {
      const bed = new RunBed({ batch: 3, settings: { timeout: 500 } });
      bed.take(['a', 'b'], 1);
      const [message] = bed.call(0).messages;
      bed.call(0).resolve();
      await bed.clock.advance(LEASE);

      expect(message?.signal.aborted).toBe(false);
      expect(bed.clock.nextTimerAt).toBeUndefined();
    });
  });

  it('gives back every message that still runs, and frees their slots once', async () => {
    const bed = new RunBed({ batch: 2 });
    bed.take(['a', 'b', 'c'], 2);
    const signals = bed.calls.flatMap(({ messages }) => messages.map(({ signal }) => signal));
    bed.run.releaseAll();

    expect(signals.map((signal) => signal.reason as unknown)).toMatchObject(
      ['a', 'b', 'c'].map(() => ({ code: 'SHUTDOWN' })),
    );
    expect(bed.slotsFree).toBe(2);
    for (const call of bed.calls) call.resolve();
    expect(await bed.outcomes()).toEqual([
      ['a', 'release'],
      ['b', 'release'],
      ['c', 'release'],
    ]);
    expect(bed.slotsFree).toBe(2);
  });
});

/** Has a batch handled: `a` may be tried again, `b` and `c` may not. */
async function end(settle: (call: BedCall) => void) {
  const bed = new RunBed({ batch: 3 });
  const deliveries = [bed.delivery('a'), bed.delivery('b', { attempt: 3 }), bed.delivery('c', { attempts: 1 })];
  bed.run.take(deliveries, 1);
  settle(bed.call(0));
  return { outcomes: await bed.outcomes(), failure: await bed.failureOf('a') };
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
