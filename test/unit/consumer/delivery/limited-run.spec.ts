import { describe, expect, it } from 'vitest';
import { RateLimitedError } from '../../../../lib/errors/handling.errors.js';
import { beginTimes } from '../../../support/units/begin-times.js';
import { RunBed } from '../../../support/units/run-bed.js';
import { turns } from '../../../support/units/test-claimant.js';

describe('a delivery of a limited topic', () => {
  it('is given back if its permit is of no use any more, and its handler is not called', async () => {
    const bed = new RunBed();
    const late = bed.delivery('late');
    late.begin = [beginTimes({ until: bed.clock.now() - 1 })];
    const inTime = bed.delivery('in time');
    inTime.begin = [beginTimes({ until: bed.clock.now() })];
    bed.hand(late, inTime);

    expect(bed.called).toEqual([['in time']]);
    expect(await bed.outcomes()).toEqual([['late', 'release']]);
    expect(bed.running).toEqual(['in time']);
  });

  it('is given back if its lease has ended before its time has come', async () => {
    const bed = new RunBed();
    const late = bed.delivery('late');
    late.begin = [beginTimes({ from: late.leaseEndsAt, until: late.leaseEndsAt + 1000 })];
    bed.hand(late);
    bed.extend = () => new Promise(() => {});
    await bed.clock.advance(late.leaseEndsAt - bed.clock.now());

    expect(bed.called).toEqual([]);
    expect(await bed.outcomes()).toEqual([['late', 'release']]);
  });

  it('is left out of its batch then', async () => {
    const bed = new RunBed({ batch: 2 });
    const late = bed.delivery('late');
    late.begin = [beginTimes({ until: bed.clock.now() - 1 })];
    bed.hand(late, bed.delivery('other'));

    expect(bed.called).toEqual([['other']]);
  });

  it('does not count against the rate of its key if its handler was not called', async () => {
    const bed = new RunBed();
    const [late, called] = [bed.delivery('late'), bed.delivery('called')];
    late.begin = [beginTimes({ until: bed.clock.now() - 1 })];
    for (const delivery of [late, called]) delivery.grantedAt = 7;
    bed.hand(late, called);
    bed.call(0).resolve();
    await turns(3);

    expect(bed.settlements).toMatchObject([
      { storedId: 'late', outcome: { kind: 'release', grantedAt: 7 } },
      { storedId: 'called', outcome: { kind: 'ack' } },
    ]);
  });
});

describe('a handler that has met a rate limit', () => {
  it('puts its message off, and lets nothing begin here before', async () => {
    const bed = new RunBed();
    bed.take('a');
    bed.call(0).reject(new RateLimitedError('10s'));
    await turns(3);
    bed.take('b');
    expect(bed.called).toEqual([['a']]);
    expect(await bed.outcomes()).toEqual([
      ['a', 'put-off'],
      ['b', 'release'],
    ]);
    expect(bed.holds).toEqual([10_000]);

    await bed.clock.advance(10_001);
    bed.take('c');
    expect(bed.called).toEqual([['a'], ['c']]);
  });

  it('goes on at once when its topic is resumed, and tells of a shorter hold then', async () => {
    const bed = new RunBed();
    bed.own();
    bed.take('a');
    bed.call(0).reject(new RateLimitedError('10s'));
    await turns(3);
    const before = bed.sent.length;
    bed.signal({ kind: 'due', at: bed.clock.now() });
    await turns(3);
    expect(bed.sent.slice(before)).toEqual(['claim']);
    bed.take('b');
    expect(bed.called).toEqual([['a'], ['b']]);

    bed.call(1).reject(new RateLimitedError('5s'));
    await turns(3);
    expect(bed.holds).toEqual([10_000, 5000]);
    expect(await bed.outcomes()).toEqual([
      ['a', 'put-off'],
      ['b', 'put-off'],
    ]);
  });

  it('lets nothing begin that was claimed before its partition knew of that', async () => {
    const bed = new RunBed();
    bed.own();
    bed.take('a', 'b');
    bed.call(0).reject(new RateLimitedError('10s'));
    bed.signal({ kind: 'due', at: bed.clock.now() });
    await turns(3);
    bed.take('c');
    expect(bed.called).toEqual([['a'], ['b']]);
  });

  it('holds nothing else if it concerns its message or its key alone', async () => {
    const bed = new RunBed();
    bed.take('a', 'b');
    bed.call(0).reject(new RateLimitedError('10s', { scope: 'message' }));
    bed.call(1).reject(new RateLimitedError('10s', { scope: 'key' }));
    await turns(3);
    bed.take('c');

    expect(bed.called).toEqual([['a'], ['b'], ['c']]);
    expect(bed.holds).toEqual([]);
    expect(bed.settlements.map(({ outcome }) => outcome)).toEqual([
      { kind: 'put-off', delay: 10_000, scope: 'message' },
      { kind: 'put-off', delay: 10_000, scope: 'key' },
    ]);
  });
});
