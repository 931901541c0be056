import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { testContext, testHandling } from '../../../support/units/handling.js';
import { turns } from '../../../support/units/test-claimant.js';

const DELIVERY = {
  weight: 0,
  startedAt: undefined,
  mustBeginBy: Infinity,
  endsAt: Infinity,
  aborted: false,
  permits: undefined,
  begin: undefined,
};

function starved() {
  const clock = new ManualClock();
  let told = 0;
  const { admission } = testHandling({ context: testContext({ clock }), onStarving: () => told++ });
  const turnAway = (): void => admission.turnedAway({ ...DELIVERY, mustBeginBy: -Infinity }, clock.now());
  return { clock, admission, turnAway, told: () => told };
}

describe('what limits permit always comes too late', () => {
  it('is told once', async () => {
    const { clock, admission, turnAway, told } = starved();
    const begin = clock.now();
    for (let second = 0; second < 5; second++) {
      turnAway();
      expect(admission.starvedSince).toBeUndefined();
      await clock.advance(1000);
    }
    turnAway();
    turnAway();
    expect([admission.starvedSince, told()]).toEqual([begin, 1]);
  });

  it('counts anew once a handler is called, and forgets what is long over', async () => {
    const { clock, admission, turnAway, told } = starved();
    const starve = async (): Promise<void> => {
      turnAway();
      await clock.advance(5000);
      turnAway();
    };
    await starve();
    admission.begun();
    expect(admission.starvedSince).toBeUndefined();
    await starve();
    expect(told()).toBe(2);
    await clock.advance(30_000);
    expect(admission.starvedSince).toBeUndefined();
    turnAway();
    expect([admission.starvedSince, told()]).toEqual([undefined, 2]);
  });

  it('is not told of what is turned away for another reason', async () => {
    const { clock, admission, told } = starved();
    for (let second = 0; second < 10; second++) {
      admission.turnedAway(DELIVERY, clock.now());
      await clock.advance(1000);
    }
    expect(told()).toBe(0);
  });
});

it('lets a claim that ends deliveries go ahead for a moment after its turn, again and again', async () => {
  const clock = new ManualClock();
  const { admission } = testHandling({ context: testContext({ clock }) });
  const claims = {
    partition: { topic: 'jobs', index: 0 },
    mayClaim: true,
    isDue: true,
    endsDeliveries: false,
    claim: () => {},
  };
  const own = admission.claims(claims);
  own.join();
  expect(own.goesAhead).toBe(false);

  claims.endsDeliveries = true;
  expect(own.goesAhead).toBe(true);
  await clock.advance(9);
  own.grant(1);
  expect(own.goesAhead).toBe(true);
  await clock.advance(1);
  expect(own.goesAhead).toBe(false);

  own.grant(1);
  expect(own.goesAhead).toBe(true);
});

it('has no partition wait for room of suspects that was given up while its claim was under way', async () => {
  const { admission } = testHandling();
  const claimed: string[] = [];
  const join = (name: string, index: number) => {
    const claims = admission.claims({
      partition: { topic: 'jobs', index },
      mayClaim: true,
      isDue: true,
      endsDeliveries: false,
      claim: () => claimed.push(name),
    });
    claims.join();
    return claims;
  };
  admission.took([{ ...DELIVERY, weight: 1 }]);
  const [left, kept] = [join('left', 0), join('kept', 1)];
  left.terms();
  left.quit();
  left.used(0, true);
  left.done({ mayGoOn: true });
  kept.terms();
  kept.used(0, true);
  kept.done({ mayGoOn: true });
  await turns();
  claimed.length = 0;

  admission.leftRoom({ ...DELIVERY, weight: 1 });
  await turns();
  expect(claimed).toEqual(['kept']);
});
