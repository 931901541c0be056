import { describe, expect, it } from 'vitest';
import type { Broker, Partition } from '../../../lib/broker/broker.interface.js';
import { TopicHold } from '../../../lib/consumer/topic-hold.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { testContext } from '../../support/units/handling.js';
import { turns } from '../../support/units/test-claimant.js';
import { Gate } from '../../support/waiting.js';

const FIRST: Partition = { topic: 'jobs', index: 0 };
const SECOND: Partition = { topic: 'jobs', index: 1 };

/** Of two partitions; the second one answers once the gate is open. */
function testHold() {
  const clock = new ManualClock();
  const gate = new Gate();
  const broker: Pick<Broker, 'hold'> = {
    hold: async ({ index }, _call, delay) => {
      if (index === SECOND.index) await gate.opened;
      return clock.now() + delay;
    },
  };
  const context = testContext({ clock, broker: broker as Broker });
  return { clock, gate, hold: new TopicHold({ context, topic: 'jobs', partitions: 2 }) };
}

describe('the hold of a topic', () => {
  it('ends with a claim of a partition that knew of it, and was resumed', async () => {
    const { hold } = testHold();
    hold.extend(1000);
    await turns(3);
    hold.ended(hold.knownTo(FIRST));
    expect(hold.holds).toBe(false);
  });

  it('does not end with a claim that was sent before its partition was told', async () => {
    const { hold, gate } = testHold();
    const before = hold.knownTo(FIRST);
    hold.extend(1000);
    await turns(3);
    hold.ended(before);
    hold.ended(hold.knownTo(SECOND));
    expect(hold.holds).toBe(true);

    gate.open();
    await turns(3);
    hold.ended(hold.knownTo(SECOND));
    expect(hold.holds).toBe(false);
  });

  it('does not end with a claim that was sent while a shorter one held', async () => {
    const { hold } = testHold();
    hold.extend(1000);
    await turns(3);
    const shorter = hold.knownTo(FIRST);
    hold.extend(2000);
    hold.ended(shorter);
    expect(hold.holds).toBe(true);
  });

  it('may be followed by a shorter one', async () => {
    const { hold, clock, gate } = testHold();
    gate.open();
    hold.extend(1000);
    await turns(3);
    hold.ended(hold.knownTo(FIRST));
    hold.extend(500);
    expect(hold.holds).toBe(true);
    await turns(3);
    expect(hold.knownTo(FIRST)).toMatchObject({ until: clock.now() + 500 });
  });
});
