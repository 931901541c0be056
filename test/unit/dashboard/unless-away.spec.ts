import { expect, it } from 'vitest';
import { SharedLooks } from '../../../lib/dashboard/shared-looks.js';
import { unlessAway } from '../../../lib/dashboard/unless-away.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

it('a look that is kept is answered no longer than two seconds after Redis was there, and one question is for all', async () => {
  const clock = new ManualClock();
  const looks = new SharedLooks(clock);
  let [isAway, asked] = [false, 0];
  const reach = async () => {
    asked++;
    if (isAway) throw new Error('Redis is away');
  };
  const kept = async () => unlessAway(Promise.resolve('kept'), { admin: { reach }, looks, clock });
  expect(await Promise.all([kept(), kept()])).toEqual(['kept', 'kept']);
  isAway = true;
  clock.moveTo(clock.now() + 1999);
  expect([await kept(), asked]).toEqual(['kept', 1]);
  clock.moveTo(clock.now() + 1);
  await expect(kept()).rejects.toThrow('Redis is away');
});
