import { describe, expect, it } from 'vitest';
import { LEASE } from '../../../support/units/handling.js';
import { RunBed } from '../../../support/units/run-bed.js';
import { turns } from '../../../support/units/test-claimant.js';

/** A handler that hangs, and the redelivery that follows. */
function redelivered() {
  const bed = new RunBed();
  bed.take('a');
  return { bed, slots: bed.take('a') };
}

describe('a redelivery whose earlier run has not ended', () => {
  it('is not called and takes no slot; as soon as that run ends it is given back, to be claimed anew', async () => {
    const { bed, slots } = redelivered();
    expect(slots).toBe(0);
    expect(bed.called).toEqual([['a']]);
    bed.call(0).resolve();

    expect(await bed.outcomes()).toEqual([
      ['a', 'ack'],
      ['a', 'release'],
    ]);
    expect(bed.slotsFree).toBe(1);
    expect(bed.pipeline.run.running.size).toBe(0);
    expect(bed.take('a')).toBe(1);
    expect(bed.called).toEqual([['a'], ['a']]);
  });

  it('fails after its own timeout, which spends its attempt, until it is dead', async () => {
    const bed = new RunBed({ settings: { timeout: 200 } });
    for (const attempt of [1, 2, 3]) {
      bed.hand(bed.delivery('a', { attempt }));
      await bed.clock.advance(199);
      expect(await bed.outcomes()).toHaveLength(attempt - 1);
      await bed.clock.advance(1);
    }

    expect((await bed.outcomes()).map(([, kind]) => kind)).toEqual(['retry', 'retry', 'dead']);
    expect(await bed.failureOf('a')).toMatchObject({
      code: 'HANDLER_TIMEOUT',
      message:
        'The handler was not called within its timeout of 200 ms: attempt 1 of the message still runs in this process.',
    });
    expect(bed.called).toEqual([['a']]);
    expect(bed.slotsFree).toBe(1);
  });

  it('is given back after a lease if it has no timeout, and spends no attempt', async () => {
    const { bed } = redelivered();
    await bed.clock.advance(LEASE);

    expect(await bed.outcomes()).toEqual([['a', 'release']]);
    expect(bed.slotsFree).toBe(0);
  });

  it('ends at once if its message is cancelled', async () => {
    const bed = new RunBed({ settings: { timeout: 60_000 } });
    bed.own();
    bed.take('a');
    const waiting = bed.delivery('a', { attempt: 2 });
    bed.hand(waiting);
    bed.signal({ kind: 'cancelled', storedId: 'a', token: waiting.token });

    expect(await bed.outcomes()).toEqual([['a', 'release']]);
  });

  it('is given back at once if this process gives the partition up', async () => {
    const { bed } = redelivered();
    await bed.pipeline.stop();

    expect(await bed.outcomes()).toEqual([['a', 'release']]);
    expect(bed.called).toEqual([['a']]);
  });

  it('gives way to the next one if its own lease has ended unnoticed', async () => {
    const { bed } = redelivered();
    bed.take('a');
    expect(await bed.outcomes()).toEqual([['a', 'release']]);
    bed.call(0).resolve();
    expect(await bed.outcomes()).toHaveLength(3);
    expect(bed.pipeline.run.running.size).toBe(0);
  });
});

describe('a handler that goes on although its time is up', () => {
  it('counts as abandoned if it has not heeded its signal for a second, and is logged once', async () => {
    const bed = new RunBed({ batch: 2, settings: { timeout: 200 } });
    bed.take('a', 'line\nbreak');
    bed.take('quick');
    await bed.clock.advance(200);
    bed.call(1).resolve();
    await bed.clock.advance(999);
    expect(bed.abandoned.report).toEqual({ count: 0, oldest: [] });
    await bed.clock.advance(1);

    const startedAt = new Date(bed.clock.now() - 1200);
    expect(bed.abandoned.report).toEqual({
      count: 1,
      oldest: [{ topic: 'jobs', handler: 'Jobs.work', ids: ['a', 'line\nbreak'], startedAt, overtime: 1000 }],
    });
    expect([bed.abandoned.count('jobs'), bed.abandoned.count('others')]).toEqual([1, 0]);
    await bed.clock.advance(LEASE);
    expect(bed.warnings).toEqual([
      "Jobs.work goes on with messages 'a', 'line\\nbreak' of topic 'jobs' although its time was up after 200 ms. It was " +
        `called at ${startedAt.toISOString()}, its slot is free, and nothing can stop it. Until it ends, this process does ` +
        'not call it with these messages again. Have it heed message.signal.',
    ]);
    expect(bed.clock.nextTimerAt).toBeUndefined();
    bed.call(0).reject(new Error('too late'));
    await turns();
    expect(bed.abandoned.report.count).toBe(0);
  });

  it('is among the 20 that a report names, or in their count', async () => {
    const bed = new RunBed({ settings: { timeout: 200 } });
    bed.take(...Array.from({ length: 25 }, (_, i) => `m${i}`));
    await bed.clock.advance(2000);

    const { count, oldest } = bed.abandoned.report;
    expect(count).toBe(25);
    expect(oldest).toHaveLength(20);
    expect(oldest[0]?.ids).toEqual(['m0']);
  });
});

describe('a lease that ends', () => {
  it('aborts at that moment, and not at the next renewal', async () => {
    const bed = new RunBed();
    bed.extend = () => new Promise<never>(() => {});
    bed.take('early');
    await bed.clock.advance(LEASE / 3 - 100);
    bed.take('late');
    const [early, late] = bed.calls.map(({ messages }) => messages[0]?.signal);
    await bed.clock.advance(LEASE - LEASE / 3 + 99);
    expect(early?.aborted).toBe(false);
    await bed.clock.advance(1);
    expect(early?.reason).toMatchObject({ code: 'LEASE_LOST' });
    await bed.clock.advance(LEASE / 3 - 101);
    expect(late?.aborted).toBe(false);
    await bed.clock.advance(1);
    expect(late?.reason).toMatchObject({ code: 'LEASE_LOST' });
  });

  it('aborts before what the broker answered meanwhile is handed over, if the event loop was blocked', async () => {
    const bed = new RunBed();
    bed.take('a');
    const abortedBefore: unknown[] = [];
    const { signal } = bed.call(0).messages[0] as { signal: AbortSignal };
    bed.onCall = () => abortedBefore.push(signal.aborted);
    bed.clock.moveTo(bed.clock.now() + LEASE);
    bed.take('b');

    expect(abortedBefore).toEqual([true]);
    expect(bed.called).toEqual([['a'], ['b']]);
  });

  it('costs no timer once nothing runs', async () => {
    const bed = new RunBed();
    for (let i = 0; i < 100; i++) bed.take(`m${i}`);
    for (const call of bed.calls) call.resolve();
    await bed.clock.advance(LEASE);

    expect(bed.clock.nextTimerAt).toBeUndefined();
  });
});
