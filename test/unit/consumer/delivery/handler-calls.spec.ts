import { createHook } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { RunBed } from '../../../support/units/run-bed.js';
import { Gate } from '../../../support/waiting.js';

describe('a handler that throws before it returns a promise', () => {
  it('fails its attempt like any other, and the other calls begin', async () => {
    const bed = new RunBed({
      handle: () => {
        throw new Error('at once');
      },
    });

    expect(bed.take('a', 'b')).toBe(2);
    expect(await bed.outcomes()).toEqual([
      ['a', 'retry'],
      ['b', 'retry'],
    ]);
    expect(bed.slotsFree).toBe(2);
  });
});

describe('a handler that succeeds while something that it called still runs', () => {
  it('is not acknowledged before that has ended', async () => {
    const gate = new Gate();
    const bed = new RunBed({ handle: (_, outlived) => outlived?.(gate.opened) });
    bed.take('a');

    expect(await bed.outcomes()).toEqual([]);
    gate.open();
    expect(await bed.outcomes()).toEqual([['a', 'ack']]);
  });
});

describe('a call of one message', () => {
  it('costs one promise besides that of the handler', async () => {
    const bed = new RunBed({ handle: async () => {} });
    const ids = Array.from({ length: 200 }, (_, i) => `message ${i}`);
    let promises = 0;
    const hook = createHook({ init: (_id, type) => void (type === 'PROMISE' && promises++) }).enable();
    bed.take(...ids);
    await bed.outcomes();
    hook.disable();

    expect(bed.settlements).toHaveLength(ids.length);
    // What settles all of them together makes some, too.
    expect(promises).toBeLessThan(2.5 * ids.length);
  });
});
