import { describe, expect, it } from 'vitest';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import { ClaimBed, claimed } from '../../../support/units/claim-bed.js';
import { RunBed } from '../../../support/units/run-bed.js';
import { turns } from '../../../support/units/test-claimant.js';

const GONE = new BrokerUnavailableError('gone', { transient: true });

/** Two partitions want the only slot of a process; the first one's shard is away. */
function startTwo() {
  const bed = new ClaimBed(1);
  bed.claimer('away').start();
  bed.claimer('there').start();
  expect(bed.claimed).toEqual(['away']);
  return bed;
}

describe('a claim loses slots that others can use', () => {
  it('once its claim has failed, whose repeats ask for nothing until they are answered', async () => {
    const bed = startTwo();
    bed.claimOf('away').fail(GONE);
    await turns();
    expect(bed.claimed).toEqual(['away', 'there']);

    await bed.clock.advance(25);
    bed.claimOf('there').answer(claimed(0));
    expect(bed.claimOf('away')).toMatchObject({ sequence: 1, max: 0 });
    bed.claimOf('away').answer(claimed(0, bed.clock.now()));
    await turns();
    expect(bed.claimOf('away')).toMatchObject({ sequence: 2, max: 1 });
  });

  it('and says when it failed last', async () => {
    const bed = new ClaimBed();
    const claimer = bed.claimer('away');
    claimer.start();
    const startedAt = bed.clock.now();
    bed.claimOf('away').fail(GONE);
    await bed.clock.advance(25);
    bed.claimOf('away').fail(GONE);
    await turns();

    expect(claimer.progress).toMatchObject({ answeredAt: startedAt, failedAt: startedAt + 25 });
  });

  it('once its claim was not answered for a second', async () => {
    const bed = startTwo();
    await bed.clock.advance(999);
    expect(bed.claimed).toEqual(['away']);
    await bed.clock.advance(1);
    await turns();
    expect(bed.claimed).toEqual(['away', 'there']);
  });

  it('though it has claimed in the meantime, each time a second after it has', async () => {
    const bed = startTwo();
    await bed.clock.advance(600);
    bed.claimOf('away').answer(claimed(0, bed.clock.now()));
    await turns();
    bed.claimOf('there').answer(claimed(0));
    await turns();
    expect(bed.claimed).toEqual(['away', 'there', 'away']);
    expect(bed.slots.used).toBe(1);
    await bed.clock.advance(999);
    expect(bed.slots.used).toBe(1);
    await bed.clock.advance(1);
    expect(bed.slots.used).toBe(0);
  });

  it.each([
    { free: 2, back: ['m2'] },
    { free: 1, back: ['m1', 'm2'] },
    { free: 0, back: ['m0', 'm1', 'm2'] },
  ])('and gives back what it has none for when its claim is answered late: $free free', async ({ free, back }) => {
    const bed = new ClaimBed(4);
    for (const topic of ['away', 'there']) bed.claimer(topic).start();
    await bed.clock.advance(1000);
    expect(bed.slots.used).toBe(0);
    bed.claimOf('there').answer(claimed(4 - free));
    await turns();

    bed.claimOf('away').answer(claimed(3));
    await turns();
    expect(bed.givenBack).toEqual(back);
    expect(bed.slots.used).toBe(4);
  });
});

describe('deliveries that there is no slot for', () => {
  it.each([
    { batch: undefined, slots: 2, handled: [['a'], ['b']], back: ['c', 'd', 'e'] },
    {
      batch: 2,
      slots: 2,
      handled: [
        ['a', 'b'],
        ['c', 'd'],
      ],
      back: ['e'],
    },
    { batch: 2, slots: 0, handled: [], back: ['a', 'b', 'c', 'd', 'e'] },
  ])('go back, and spend no attempt: batch $batch, slots $slots', async ({ batch, slots, handled, back }) => {
    const bed = new RunBed({ batch });
    const deliveries = ['a', 'b', 'c', 'd', 'e'].map((id) => bed.delivery(id));

    expect(bed.pipeline.take(deliveries, slots)).toBe(slots);
    expect(bed.calls.map(({ ids }) => ids)).toEqual(handled);
    expect(await bed.outcomes()).toEqual(back.map((id) => [id, 'release']));
  });
});
