import { expect, it } from 'vitest';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { wrapBroker } from '../../../../lib/store/wrap-broker.js';
import { PermitCalls } from '../../../../lib/consumer/admission/permit-calls.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { sleep } from '../../../../lib/time/sleep.js';
import { testContext } from '../../../support/units/handling.js';

it('takes a call for late once it takes much longer than others, a tenth of a second at least and two seconds at most', async () => {
  const clock = new ManualClock(0);
  let way = 1;
  const broker = wrapBroker(new EmbeddedBroker(clock), async (call) => {
    await sleep(clock, way);
    return call.run();
  });
  const calls = new PermitCalls(testContext({ broker, clock }), 'jobs', () => {});
  let sequence = 0;
  /** After how many milliseconds a call that takes so long is late; `undefined`: it is not. */
  const lateAfter = async (duration: number): Promise<number | undefined> => {
    way = duration;
    const request = {
      session: 'a',
      sequence: ++sequence,
      limits: {},
      held: 0,
      idle: 0,
      wanted: 1,
      lease: 1,
      patience: 1,
      returned: [],
    };
    const call = calls.permit(request);
    let late: number | undefined;
    for (let passed = 10; passed <= duration; passed += 10) {
      await clock.advance(10);
      if (calls.isLate) late ??= passed;
    }
    await call;
    return late;
  };

  expect(await lateAfter(20)).toBeUndefined();
  // What took so long once may have met a standstill.
  for (let i = 0; i < 2; i++) expect(await lateAfter(150)).toBe(100);
  expect(await lateAfter(150)).toBeUndefined();
  for (let i = 0; i < 2; i++) expect(await lateAfter(600)).toBe(450);
  // Longer than it takes until a call is made again, with the answer to the first one under way.
  for (let i = 0; i < 2; i++) expect(await lateAfter(1400)).toBeUndefined();
  expect(await lateAfter(2100)).toBe(2000);
});
