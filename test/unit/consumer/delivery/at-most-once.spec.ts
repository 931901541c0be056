import { describe, expect, it } from 'vitest';
import { FlightTerm, Permits } from '../../../../lib/consumer/admission/permits.js';
import { RetryLaterError } from '../../../../lib/errors/handling.errors.js';
import { RunBed } from '../../../support/units/run-bed.js';
import { turns } from '../../../support/units/test-claimant.js';

const ONCE = { delivery: 'at-most-once', attempts: 1, lease: 0 } as const;

function open(batch?: number): RunBed {
  const bed = new RunBed({ batch, settings: ONCE });
  bed.extend = async () => expect.fail('It has no lease');
  return bed;
}

describe('a delivery at most once', () => {
  it('is not settled, and acknowledged as far as events are concerned', async () => {
    const bed = open();
    bed.take('a');
    bed.call(0).resolve();

    expect(await bed.outcomes()).toEqual([]);
    expect(bed.events).toEqual([
      ['delivered', 'a'],
      ['acked', 'a'],
    ]);
    expect(bed.slotsFree).toBe(1);
    expect(bed.pipeline.run.running.size).toBe(0);
  });

  it.each([new Error('boom'), new RetryLaterError('1s'), undefined])(
    'is an error if its handler throws %s',
    async (thrown) => {
      const bed = open();
      bed.take('a');
      bed.call(0).reject(thrown);

      expect(await bed.outcomes()).toEqual([]);
      expect(bed.events).toEqual([
        ['delivered', 'a'],
        ['errors', 'a'],
      ]);
      expect(bed.slotsFree).toBe(1);
    },
  );

  it('is an error if it is not called, since it comes too late', async () => {
    const bed = new RunBed({ settings: { ...ONCE, expireAfter: 10 } });
    bed.hand(bed.delivery('late', { late: 11 }));
    await turns();

    expect(bed.called).toEqual([]);
    expect(bed.events).toEqual([['errors', 'late']]);
  });

  it('is called although attempts were spent before, and however late its claim is answered', async () => {
    const bed = open();
    const delivery = bed.delivery('a', { attempt: 9 });
    delivery.leaseEndsAt = Infinity;
    await bed.clock.advance(1_000_000);
    bed.hand(delivery);

    expect(bed.called).toEqual([['a']]);
  });

  it('waits for another permit to be in flight, if its own is over by then', async () => {
    const bed = open();
    const delivery = bed.delivery('a');
    delivery.leaseEndsAt = Infinity;
    const term = Object.assign(new FlightTerm(), { endsAt: bed.clock.now() });
    const owner = { unused: () => {}, ended: () => {} };
    delivery.permits = new Permits(owner, { count: 1, permittedAt: 0, begin: undefined, term });
    bed.hand(delivery);
    await turns(20);

    expect(bed.called).toEqual([['a']]);
    expect(delivery.permits?.endsAt).not.toBe(term.endsAt);
  });

  it('waits for a slot if there is none, and is not given back', async () => {
    const bed = open();
    const [a, b] = [bed.delivery('a'), bed.delivery('b')];
    expect(bed.pipeline.take([a, b], 0)).toBe(0);
    await turns();

    expect(bed.called).toEqual([['a'], ['b']]);
    expect(bed.pipeline.run.running.size).toBe(2);
    for (const index of [0, 1]) bed.call(index).resolve();
    expect(await bed.outcomes()).toEqual([]);
    expect(bed.pipeline.isIdle).toBe(true);
  });

  it('runs beside another message with its id', async () => {
    const bed = open();
    bed.take('a');
    bed.take('a');
    expect(bed.called).toEqual([['a'], ['a']]);
    bed.call(1).resolve();
    await turns();
    expect(bed.running).toEqual(['a']);
    bed.call(0).resolve();
    await turns();

    expect(bed.running).toEqual([]);
  });

  it('has no lease to be renewed or to end', async () => {
    const bed = open();
    bed.take('a');
    bed.pipeline.renewLeases();
    await bed.clock.advance(10_000_000);

    expect(bed.call(0).messages[0]?.signal.aborted).toBe(false);
  });

  it('is lost without a call if it still waits for a slot by then', async () => {
    const bed = new RunBed({ settings: ONCE, free: 0 });
    bed.pipeline.take([bed.delivery('a'), bed.delivery('b')], 0);
    expect(bed.pipeline.run.running.size).toBe(2);
    bed.pipeline.run.releaseAll();
    await turns();

    expect(bed.called).toEqual([]);
    expect(bed.pipeline.run.running.size).toBe(0);
  });

  it('is lost if a shutdown does not wait for it any longer', async () => {
    const bed = open();
    bed.take('a');
    bed.pipeline.run.releaseAll();

    expect(await bed.outcomes()).toEqual([]);
    expect(bed.call(0).messages[0]?.signal.reason).toMatchObject({ code: 'SHUTDOWN' });
    expect(bed.events).toEqual([
      ['delivered', 'a'],
      ['errors', 'a'],
    ]);
  });

  it('of a batch is an error by itself', async () => {
    const bed = open(3);
    bed.take('a', 'b', 'c');
    const fine = { status: 'fulfilled', value: undefined };
    bed.call(0).resolve([fine, { status: 'rejected', reason: new Error('no') }, fine]);
    await turns();

    expect(bed.events.slice(3)).toEqual([
      ['acked', 'a'],
      ['errors', 'b'],
      ['acked', 'c'],
    ]);
    expect(bed.slotsFree).toBe(1);
  });
});
