import { Subject, isObservable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { completing } from '../../../../lib/nest/handlers/completion.js';
import { InnerCalls } from '../../../../lib/time/inner-calls.js';
import { Gate } from '../../../support/waiting.js';

describe('what a handler returns within the pipeline', () => {
  it.each([
    ['a promise', async (gate: Gate) => gate.opened],
    [
      'a generator',
      async function* (gate: Gate) {
        yield await gate.opened;
      },
    ],
  ])('runs until it has ended, whatever is done with the result: %s', async (_, begin) => {
    const [calls, gate] = [new InnerCalls(), new Gate()];
    const result = completing(begin(gate), calls);
    expect(calls.running).toBe(true);

    gate.open();
    await Promise.all([result, calls.idle()]);
    expect(calls.running).toBe(false);
  });

  it('runs from its subscription on, if it is an Observable', () => {
    const [calls, source] = [new InnerCalls(), new Subject()];
    const result = completing(source, calls);
    expect(calls.running).toBe(false);

    if (isObservable(result)) result.subscribe();
    expect(calls.running).toBe(true);
    source.complete();
    expect(calls.running).toBe(false);
  });
});
