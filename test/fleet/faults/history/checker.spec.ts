import { describe, expect, it } from 'vitest';
import { Forgery } from './forgery.js';

/** A message that is published, handled and acked correctly. */
function sound(): Forgery {
  return new Forgery()
    .published(0, 'm', 100)
    .started(101, 'a', 'm', 1, 100)
    .finished(150, 'a', 'm')
    .settled(152, 'a', 'm', 'acked');
}

/** While `a` was stopped, `b` has handled what `a` begins as soon as it goes on. */
function begunAfterStop(): Forgery {
  return new Forgery()
    .published(0, 'm')
    .stopped(1000, 3000, 'a')
    .started(2500, 'b', 'm')
    .finished(2510, 'b', 'm')
    .settled(2511, 'b', 'm', 'acked');
}

describe('the checker', () => {
  it('finds nothing in a sound history', () => {
    expect(sound().rules()).toEqual([]);
  });

  it('finds a publish that was rejected too late', () => {
    const rejected = sound().at(10, 'p', { kind: 'publish-called', id: 'x' });
    const record = { kind: 'publish-failed', id: 'x', code: 'BROKER_UNAVAILABLE' } as const;
    expect(rejected.at(7011, 'p', record).rules()).toEqual(['hanging']);
  });

  it('finds a confirmed message that was never handled', () => {
    expect(sound().published(10, 'lost').rules()).toEqual(['lost']);
  });

  it('accepts a message that was cancelled, that is dead, or whose publish failed', () => {
    const history = sound()
      .published(10, 'cancelled')
      .at(11, 'p', { kind: 'cancelled', id: 'cancelled', result: 'cancelled' })
      .published(10, 'dead')
      .left('dead', 'dead')
      .at(12, 'p', { kind: 'publish-failed', id: 'failed', code: 'BROKER_UNAVAILABLE' });
    expect(history.rules()).toEqual([]);
  });

  it('does not count a cancel that found nothing', () => {
    const history = sound().published(10, 'lost').at(11, 'p', { kind: 'cancelled', id: 'lost', result: 'not-found' });
    expect(history.rules()).toEqual(['lost']);
  });

  it('finds an id that was accepted twice', () => {
    expect(sound().published(5, 'm', 100).rules()).toEqual(['duplicate']);
  });

  it.each(['scheduled', 'in-flight'] as const)('finds a message that stays %s forever', (state) => {
    expect(sound().published(10, 'stuck').left('stuck', state).rules()).toEqual(['stuck']);
  });

  it('finds two runs of one message at the same time in two processes', () => {
    const history = sound().published(0, 'x').started(5000, 'a', 'x').started(5500, 'b', 'x', 2);
    expect(history.finished(6000, 'a', 'x').finished(6100, 'b', 'x', 2).rules()).toContain('overlap');
  });

  it('finds two runs of one message at the same time in one process, even one that was disturbed', () => {
    const history = sound().published(0, 'x').started(5000, 'a', 'x').fault(5000, 7000, 'a').started(7100, 'a', 'x', 2);
    expect(history.finished(7200, 'a', 'x').finished(7300, 'a', 'x', 2).rules()).toContain('overlap');
  });

  it('accepts a second run if the first process was stopped for longer than the lease', () => {
    const history = sound().published(0, 'x').started(5000, 'a', 'x').fault(5100, 7000, 'a').started(6500, 'b', 'x', 2);
    expect(
      history.finished(6600, 'b', 'x', 2).settled(6601, 'b', 'x', 'acked', 2).finished(7100, 'a', 'x').rules(),
    ).toEqual([]);
  });

  it('accepts a second run after the first process was killed', () => {
    const history = sound().published(0, 'x').started(5000, 'a', 'x').fault(5100, 5100, 'a', true);
    expect(history.started(6200, 'b', 'x', 2).finished(6300, 'b', 'x', 2).rules()).toEqual([]);
  });

  it('finds a run before its due time', () => {
    expect(sound().published(0, 'x', 500).started(490, 'a', 'x', 1, 500).finished(500, 'a', 'x').rules()).toEqual([
      'early',
    ]);
  });

  it('finds a delivery after the ack', () => {
    const history = sound().started(300, 'b', 'm', 2).finished(310, 'b', 'm', 2);
    expect(history.rules()).toEqual(['stale-settle']);
  });

  it('finds that a late ack took effect while another process had the message', () => {
    const history = new Forgery()
      .published(0, 'm')
      .started(5000, 'a', 'm')
      .fault(5100, 7000, 'a')
      .started(6500, 'b', 'm', 2)
      .finished(7100, 'a', 'm')
      .settled(7101, 'a', 'm', 'acked')
      .finished(9000, 'b', 'm', 2);
    expect(history.rules()).toEqual(['stale-settle']);
  });

  it('finds that a late settle took the message from the process that had it', () => {
    const history = new Forgery()
      .published(0, 'm')
      .started(5000, 'a', 'm')
      .fault(5100, 7000, 'a')
      .started(6500, 'b', 'm', 2)
      .finished(9000, 'b', 'm', 2)
      .settled(9001, 'b', 'm', 'stale', 2);
    expect(history.rules()).toEqual(['stale-settle']);
  });

  it('excuses the one run that a process can have begun as it was stopped', () => {
    const history = begunAfterStop().started(2999, 'a', 'm').finished(3009, 'a', 'm').settled(3010, 'a', 'm', 'stale');
    expect(history.rules()).toEqual([]);
  });

  it('excuses no other one after it, and none that took effect', () => {
    const second = begunAfterStop()
      .published(0, 'n')
      .started(2998, 'a', 'n')
      .finished(2999, 'a', 'n')
      .settled(2999, 'a', 'n', 'acked')
      .started(2999, 'a', 'm')
      .finished(3009, 'a', 'm')
      .settled(3010, 'a', 'm', 'stale');
    expect(second.rules()).toEqual(['stale-settle']);
    const effective = begunAfterStop()
      .started(2999, 'a', 'm')
      .finished(3009, 'a', 'm')
      .settled(3010, 'a', 'm', 'acked');
    expect(effective.rules()).toContain('stale-settle');
  });

  it.each([
    { when: 'later', begin: 9001 },
    { when: 'in the same millisecond', begin: 9000 },
  ])('tells the late settle of an earlier run from that of the next one, which began $when', ({ begin }) => {
    const history = new Forgery()
      .published(0, 'm')
      .started(5000, 'a', 'm')
      .fault(5100, 7000, 'a')
      .finished(9000, 'a', 'm')
      .started(begin, 'a', 'm')
      .settled(9002, 'a', 'm', 'stale')
      .finished(9100, 'a', 'm')
      .settled(9101, 'a', 'm', 'acked');
    expect(history.rules()).toEqual([]);
  });

  it('tells the late settle of a run that failed, which waited for room, from the ack of a later one', () => {
    const history = new Forgery()
      .published(0, 'm')
      .started(1, 'a', 'm')
      .finished(50, 'a', 'm', 1, false)
      .fault(100, 4000, 'a')
      .started(6000, 'a', 'm')
      .finished(6010, 'a', 'm')
      .settled(6011, 'a', 'm', 'acked')
      .settled(6500, 'a', 'm', 'stale');
    expect(history.rules()).toEqual([]);
  });

  it('finds attempts that do not grow, or grow by more than one without a fault', () => {
    const failing = new Forgery().published(0, 'm').started(1, 'a', 'm').finished(2, 'a', 'm', 1, false);
    const again = failing.settled(3, 'a', 'm', 'retried').started(50, 'b', 'm', 1).finished(51, 'b', 'm', 1);
    expect(again.rules()).toEqual(['attempts']);
    expect(new Forgery().published(0, 'm').started(1, 'a', 'm', 2).finished(2, 'a', 'm', 2).rules()).toEqual([
      'attempts',
    ]);
  });

  it('accepts that a message that was put off has the same attempt again', () => {
    const history = new Forgery().published(0, 'm').started(100, 'a', 'm').putOff(110, 'a', 'm');
    expect(history.started(200, 'a', 'm').finished(210, 'a', 'm').settled(211, 'a', 'm', 'acked').rules()).toEqual([]);
  });

  it('finds a run beyond the last attempt, and a death before it', () => {
    const beyond = new Forgery().published(0, 'm').fault(0, 1, undefined).started(2, 'a', 'm', 4);
    expect(beyond.finished(3, 'a', 'm', 4).rules()).toEqual(['attempts']);
    const early = new Forgery().published(0, 'm').started(1, 'a', 'm').finished(2, 'a', 'm', 1, false);
    expect(early.settled(3, 'a', 'm', 'dead').left('m', 'dead').rules()).toEqual(['attempts']);
  });

  it('finds two runs at the same time after a fault that is too short to end a lease', () => {
    const history = sound().published(0, 'x').started(5000, 'a', 'x').shortFault(5100, 5200).started(5500, 'b', 'x', 2);
    expect(history.finished(5600, 'b', 'x', 2).finished(6000, 'a', 'x').rules()).toContain('overlap');
  });

  it('finds that an ack took effect after another process got the message under the same number', () => {
    const history = new Forgery()
      .published(0, 'm')
      .started(5000, 'a', 'm')
      .fault(5100, 7000, undefined)
      .redisLost(4900, 5100)
      .started(6500, 'b', 'm')
      .finished(7100, 'a', 'm')
      .settled(7101, 'a', 'm', 'acked')
      .finished(9000, 'b', 'm');
    expect(history.rules()).toEqual(['stale-settle']);
  });

  it.each([
    { confirmed: 900, found: ['lost'] },
    { confirmed: 1000, found: [] },
    { confirmed: 2000, found: [] },
    { confirmed: 2001, found: ['lost'] },
  ])('excuses a lost message if Redis lost what it did then: confirmed at $confirmed', ({ confirmed, found }) => {
    expect(sound().redisLost(1000, 2000).published(confirmed, 'x').rules()).toEqual(found);
  });

  it('counts what it excuses, and nothing that Redis had not lost', () => {
    const history = sound().redisLost(1000, 2000).published(1500, 'x').published(1600, 'y').published(2500, 'z');
    expect(history.excused()).toEqual({ lost: 2 });
    expect(history.rules()).toEqual(['lost']);
    expect(sound().published(1500, 'x').excused()).toEqual({});
  });

  it('accepts a delivery after the ack, under the same number and at the same time, if Redis lost claim and ack', () => {
    const again = sound().redisLost(90, 160).started(2000, 'b', 'm', 1, 100).finished(2010, 'b', 'm');
    expect(again.rules()).toEqual([]);
    const both = new Forgery().published(0, 'm').redisLost(90, 160).fault(160, 170, undefined);
    both.started(100, 'a', 'm').started(200, 'b', 'm').finished(210, 'b', 'm').finished(300, 'a', 'm');
    expect(both.rules()).toEqual([]);
  });

  it('accepts an ack of an earlier attempt if Redis lost that the message was handed out again', () => {
    const failedFirst = new Forgery()
      .published(0, 'm')
      .started(100, 'a', 'm')
      .finished(110, 'a', 'm', 1, false)
      .settled(112, 'a', 'm', 'retried');
    const ackedLater = failedFirst
      .redisLost(1200, 1500)
      .started(1300, 'a', 'm', 2)
      .finished(1310, 'a', 'm', 2)
      .settled(1312, 'a', 'm', 'stale', 2)
      .started(3000, 'b', 'm')
      .finished(3010, 'b', 'm')
      .settled(3012, 'b', 'm', 'acked')
      .fault(1400, 1500, undefined);
    expect(ackedLater.rules()).toEqual([]);
  });

  it('measures due times on the clock of the servers', () => {
    const ahead = new Forgery().clockStep(0, 10_000).published(0, 'm', 10_500);
    expect(ahead.started(501, 'a', 'm', 1, 10_500).finished(510, 'a', 'm').rules()).toEqual([]);
    const early = new Forgery().clockStep(0, 10_000).published(0, 'm', 10_500);
    expect(early.started(490, 'a', 'm', 1, 10_500).finished(510, 'a', 'm').rules()).toEqual(['early']);
    const setBack = new Forgery().clockStep(0, 10_000).clockStep(495, 0).published(0, 'm', 10_490);
    expect(setBack.started(496, 'a', 'm', 1, 10_490).finished(510, 'a', 'm').rules()).toEqual([]);
    const longAfter = new Forgery().clockStep(0, 10_000).clockStep(495, 0).published(0, 'm', 10_490);
    expect(longAfter.started(1496, 'a', 'm', 1, 10_490).finished(1510, 'a', 'm').rules()).toEqual(['early']);
  });

  it('finds two owners of a partition', () => {
    const history = sound().owned(0, 'a', true).owned(2000, 'b', true).owned(3601, 'a', false);
    expect(history.rules()).toEqual(['two-owners']);
  });

  it('accepts that a partition moves, also from a process that was killed', () => {
    const moved = sound().owned(0, 'a', true).owned(2000, 'a', false).owned(2001, 'b', true);
    expect(moved.rules()).toEqual([]);
    const late = sound().owned(0, 'a', true).owned(2000, 'b', true).owned(3600, 'a', false);
    expect(late.rules()).toEqual([]);
    const killed = sound().owned(0, 'a', true).fault(2000, 2000, 'a', true).owned(2700, 'b', true);
    expect(killed.rules()).toEqual([]);
  });
});
