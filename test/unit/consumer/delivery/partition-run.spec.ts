import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../../../lib/store/messages/stored-message.js';
import { LEASE } from '../../../support/units/handling.js';
import { type BedCall, RunBed } from '../../../support/units/run-bed.js';
import { turns } from '../../../support/units/test-claimant.js';

describe('PartitionRun without batches', () => {
  it('calls the handler with one message each, a slot for each', async () => {
    const bed = new RunBed();

    expect(bed.take('a', 'b', 'c')).toBe(3);
    expect(bed.called).toEqual([['a'], ['b'], ['c']]);
    bed.call(1).resolve();
    expect(await bed.outcomes()).toEqual([['b', 'ack']]);
    expect(bed.slotsFree).toBe(1);
    expect(bed.running).toEqual(['a', 'c']);
  });

  it('takes what looks like results of a batch for any other value', async () => {
    const bed = new RunBed();
    bed.take('a');
    bed.call(0).resolve([{ status: 'rejected', reason: new Error('none of its business') }]);

    expect(await bed.outcomes()).toEqual([['a', 'ack']]);
  });
});

describe('a handler that throws what cannot be looked at', () => {
  it('fails like any other: its message is repeated, and its slot is free', async () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    const bed = new RunBed();
    bed.take('a');
    bed.call(0).reject(proxy);

    expect(await bed.outcomes()).toEqual([['a', 'retry']]);
    expect(bed.slotsFree).toBe(1);
  });
});

describe('a message that was delivered before', () => {
  it('does not expire any more', async () => {
    const bed = new RunBed({ settings: { expireAfter: 10 } });
    bed.hand(bed.delivery('first', { late: 11 }), bed.delivery('second', { late: 11, number: 2 }));

    expect(await bed.outcomes()).toEqual([['first', 'dead']]);
    expect(bed.called).toEqual([['second']]);
  });
});

describe('a message that has crashed before', () => {
  const boom = { reason: 'failed', name: 'Error', message: 'boom' } as const;
  it.each([
    { stored: boom },
    { stored: { reason: 'crashed', name: 'Error', message: 'Attempt 3 was the last', lastError: boom } as const },
  ])('keeps the last error of its handler, and nests no crashes', async ({ stored }) => {
    const bed = new RunBed();
    bed.lookUp = async () => ({ failure: stored }) as unknown as StoredMessage;
    bed.hand(bed.delivery('a', { attempt: 4 }));

    expect(await bed.failureOf('a')).toMatchObject({ reason: 'crashed', lastError: boom });
  });
});

describe('a dead letter of a partition that another process owns by then', () => {
  it('is kept within the limits all the same, and for as long as this process lives', async () => {
    const bed = new RunBed({ settings: { deadLetter: { maxAge: 1000, maxCount: undefined } } });
    bed.hand(bed.delivery('a', { attempts: 1 }));
    await bed.pipeline.stop();
    bed.trimmed = bed.clock.now() + 1000;
    bed.call(0).reject(new Error('in vain'));
    expect(await bed.outcomes()).toEqual([['a', 'dead']]);
    expect(bed.trims).toBe(1);

    await bed.clock.advance(999);
    expect(bed.trims).toBe(1);
    bed.trimmed = undefined;
    await bed.clock.advance(1);
    expect(bed.trims).toBe(2);
  });
});

describe('PartitionRun with batches', () => {
  it('calls the handler with as many messages as there are, at most a batch, and says how many slots that takes', () => {
    const bed = new RunBed({ batch: 3 });

    expect(bed.take('a')).toBe(1);
    expect(bed.take('b', 'c', 'd', 'e', 'f', 'g', 'h')).toBe(3);
    expect(bed.called).toEqual([['a'], ['b', 'c', 'd'], ['e', 'f', 'g'], ['h']]);
  });

  it('frees one slot a call, when the call has ended', async () => {
    const bed = new RunBed({ batch: 3 });
    bed.take('a', 'b', 'c', 'd');
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
    bed.take('a', 'b');
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
    bed.take('a', 'b');
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

      expect(bed.hand(...deliveries)).toBe(1);
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
      bed.hand(...deliveries);

      expect(await bed.outcomes()).toEqual([
        ['a', 'dead'],
        ['b', 'dead'],
      ]);
      expect(bed.called).toEqual([]);
      expect(bed.slotsFree).toBe(1);
      expect(bed.pipeline.run.running.size).toBe(0);
    });

    it('settles what is decided already while another check takes its time', async () => {
      const bed = new RunBed({ batch: 10, settings: { expireAfter: 10 } });
      bed.lookUp = async () => new Promise(() => {});
      bed.hand(bed.delivery('late', { late: 11 }), bed.delivery('crashed', { attempt: 4 }), bed.delivery('a'));

      expect(await bed.outcomes()).toEqual([['late', 'dead']]);
      expect(bed.called).toEqual([]);
    });

    it('and does not call with what was given back while a check took its time', async () => {
      const bed = new RunBed({ batch: 10 });
      const answers: ((stored: StoredMessage | undefined) => void)[] = [];
      bed.lookUp = async () => new Promise((resolve) => answers.push(resolve));
      bed.hand(bed.delivery('a'), bed.delivery('crashed', { attempt: 4 }));
      bed.pipeline.run.releaseAll();
      expect(answers).toHaveLength(1);
      answers[0]?.(undefined);

      expect(await bed.outcomes()).toEqual([
        ['a', 'release'],
        ['crashed', 'release'],
      ]);
      expect(bed.called).toEqual([]);
      expect(bed.slotsFree).toBe(1);
      expect(bed.pipeline.run.running.size).toBe(0);
    });
  });

  it('calls with the others at once if an earlier delivery of a message still runs', async () => {
    const bed = new RunBed({ batch: 3 });
    bed.take('a', 'b');

    expect(bed.take('b', 'c', 'd')).toBe(1);
    expect(bed.called).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    const [a, b] = bed.call(0).messages;
    expect([a?.signal.aborted, b?.signal.reason]).toMatchObject([false, { code: 'LEASE_LOST' }]);
    bed.call(0).resolve();
    expect(await bed.outcomes()).toEqual([
      ['a', 'ack'],
      ['b', 'ack'],
      ['b', 'release'],
    ]);
    bed.call(1).resolve();
    await turns();
    expect(bed.slotsFree).toBe(2);
    expect(bed.pipeline.run.running.size).toBe(0);
  });

  describe('limits the time of a call', () => {
    it('to the smallest timeout of its messages, which all fail then', async () => {
      const bed = new RunBed({ batch: 3, settings: { timeout: 500 } });
      const deliveries = [bed.delivery('a'), bed.delivery('b', { timeout: 100 }), bed.delivery('c')];
      bed.hand(...deliveries);
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
      expect(bed.pipeline.run.running.size).toBe(3);
      bed.call(0).resolve();
      await turns();
      expect(await bed.outcomes()).toHaveLength(3);
      expect(bed.slotsFree).toBe(1);
      expect(bed.pipeline.run.running.size).toBe(0);
    });

    it('and calls a backoff function once, even if the handler throws afterwards', async () => {
      const asked: unknown[] = [];
      const backoff = (attempt: number, error: unknown): number => asked.push([attempt, (error as Error).name]);
      const bed = new RunBed({ batch: 3, settings: { timeout: 500, backoff } });
      bed.take('a', 'b');
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
      bed.take('a', 'b');
      const [message] = bed.call(0).messages;
      bed.call(0).resolve();
      await bed.clock.advance(LEASE);

      expect(message?.signal.aborted).toBe(false);
      expect(bed.clock.nextTimerAt).toBeUndefined();
    });
  });

  it('gives back every message that still runs, and frees their slots once', async () => {
    const bed = new RunBed({ batch: 2 });
    bed.take('a', 'b', 'c');
    const signals = bed.calls.flatMap(({ messages }) => messages.map(({ signal }) => signal));
    bed.pipeline.run.releaseAll();

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
  bed.hand(...deliveries);
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
