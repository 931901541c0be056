import { describe, expect, it } from 'vitest';
import { LEASE } from '../../../support/units/handling.js';
import { RunBed } from '../../../support/units/run-bed.js';
import { turns } from '../../../support/units/test-claimant.js';

describe('a claim that is wanted while an outcome is about to be sent', () => {
  it.each([
    {
      lease: 'has ended, as after a stall, comes behind it: it would deliver the message again',
      left: 0,
      sent: ['settle', 'claim'],
    },
    {
      lease: 'lasts takes it along',
      left: 1,
      sent: ['claim'],
    },
  ])('of a delivery whose lease $lease', async ({ left, sent }) => {
    const bed = new RunBed();
    bed.own();
    await turns();
    bed.sent.length = 0;
    const delivery = bed.delivery('a');
    bed.hand(delivery);
    delivery.leaseEndsAt = bed.clock.now() + left;

    bed.call(0).resolve();
    // The outcome is decided, and waits for the end of this turn of the event loop.
    for (let i = 0; i < 20; i++) await Promise.resolve();
    bed.signal({ kind: 'due', at: 0 });
    await bed.clock.advance(0);

    expect(await bed.outcomes()).toEqual([['a', 'ack']]);
    expect(bed.sent).toEqual(sent);
  });

  it('of a delivery whose lease has ended since the outcome was sent comes once that is answered', async () => {
    const bed = new RunBed();
    bed.own();
    await turns();
    bed.sent.length = 0;
    bed.take('a');
    bed.untilAnswered = new Promise((resolve) => void bed.clock.setTimer(LEASE + 1, resolve));
    bed.call(0).resolve();
    await turns(3);
    await bed.clock.advance(LEASE);
    bed.signal({ kind: 'due', at: 0 });
    await bed.clock.advance(0);
    expect(bed.sent).toEqual(['settle']);

    await bed.clock.advance(1);
    await turns(3);
    await bed.clock.advance(0);
    expect(bed.sent).toEqual(['settle', 'claim']);
  });

  it('comes at once then, though the answer to an earlier renewal has moved the lease meanwhile', async () => {
    const bed = new RunBed();
    bed.own();
    await turns();
    bed.take('a');
    bed.extend = async () =>
      new Promise((resolve) => void bed.clock.setTimer((2 * LEASE) / 3 + 1, () => resolve(['extended'])));
    await bed.clock.advance(LEASE / 3);
    bed.untilAnswered = new Promise((resolve) => void bed.clock.setTimer((2 * LEASE) / 3 + 2, resolve));
    bed.call(0).resolve();
    await turns(3);
    bed.sent.length = 0;
    await bed.clock.advance((2 * LEASE) / 3);
    bed.signal({ kind: 'due', at: 0 });
    await bed.clock.advance(0);
    expect(bed.sent).toEqual([]);

    await bed.clock.advance(2);
    await turns(3);
    await bed.clock.advance(0);
    expect(bed.sent).toEqual(['claim']);
  });

  it('of a delivery whose lease has ended while its outcome waits behind others comes once both are answered', async () => {
    const bed = new RunBed();
    bed.own();
    await turns();
    const [first, second] = [bed.delivery('a'), bed.delivery('b')];
    first.leaseEndsAt = bed.clock.now() + 2 * LEASE;
    bed.hand(first);
    bed.hand(second);
    bed.sent.length = 0;
    bed.untilAnswered = new Promise((resolve) => void bed.clock.setTimer(LEASE + 1, resolve));
    bed.call(0).resolve();
    await turns(3);
    bed.call(1).resolve();
    await bed.clock.advance(LEASE);
    bed.signal({ kind: 'due', at: 0 });
    await bed.clock.advance(0);
    expect(bed.sent).toEqual(['settle']);

    await bed.clock.advance(1);
    await turns(3);
    await bed.clock.advance(0);
    expect(bed.sent).toEqual(['settle', 'settle', 'claim']);
  });
});
