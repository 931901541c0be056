import { expect, it } from 'vitest';
import type { CheckedDelivery } from '../../../../lib/consumer/delivery/delivery.js';
import { Receivers } from '../../../../lib/consumer/pulling/receivers.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { Gate } from '../../../support/waiting.js';

/** Receivers of a topic of which the test says when nothing more is being claimed. */
class Bed {
  readonly clock = new ManualClock();
  readonly claimed = new Gate();
  wanted = 0;
  readonly receivers = new Receivers(
    this.clock,
    { resize: (limit) => (this.wanted = limit) },
    async () => this.claimed.opened,
  );

  async receive(max: number, over = new AbortController().signal): Promise<string[]> {
    const taken = await this.receivers.wait({ max, lease: 1000 * max, over });
    return taken.map(({ id }) => id);
  }

  async hand(id: string): Promise<void> {
    await this.receivers.hand([{ id } as CheckedDelivery], () => undefined);
  }
}

it('takes as many as are waited for, first come, first served, and at once if that is all', async () => {
  const bed = new Bed();
  const [first, second] = [bed.receive(2), bed.receive(1)];
  expect([bed.wanted, bed.receivers.lease, bed.receivers.isOpen]).toEqual([3, 2000, true]);
  await bed.hand('a');
  await bed.hand('b');
  expect(await first).toEqual(['a', 'b']);
  expect([bed.wanted, bed.receivers.lease]).toEqual([1, 1000]);
  await bed.hand('c');

  expect(await second).toEqual(['c']);
  expect([bed.wanted, bed.receivers.isOpen]).toEqual([0, false]);
});

it('waits for what is being claimed once it has something, but not for long', async () => {
  const bed = new Bed();
  const first = bed.receive(10);
  await bed.hand('a');
  await bed.hand('b');
  bed.claimed.open();
  expect(await first).toEqual(['a', 'b']);

  const other = new Bed();
  const second = other.receive(10);
  await other.hand('a');
  await other.clock.advance(20);
  expect(await second).toEqual(['a']);
  expect(other.wanted).toBe(0);
});

it('gives nothing to whoever does not wait any more', async () => {
  const bed = new Bed();
  const [before, meanwhile] = [new AbortController(), new AbortController()];
  before.abort();
  expect(await bed.receive(1, before.signal)).toEqual([]);
  const [first, second] = [bed.receive(5, meanwhile.signal), bed.receive(1)];
  meanwhile.abort();
  expect([await first, bed.wanted]).toEqual([[], 1]);
  await bed.hand('a');
  expect(await second).toEqual(['a']);

  const third = bed.receive(3);
  bed.receivers.dismiss();
  expect([await third, bed.wanted, bed.receivers.isOpen]).toEqual([[], 0, false]);
});
