import { describe, expect, it } from 'vitest';
import { SUSPECT_ROOM } from '../../../../lib/store/deliveries/claim.js';
import { SuspectQuota } from '../../../../lib/consumer/admission/suspect-quota.js';

describe('SuspectQuota', () => {
  it('has room for one claim at a time', () => {
    const quota = new SuspectQuota();
    const first = quota.enter();
    expect(first.room).toBe(SUSPECT_ROOM);
    expect(quota.enter().room).toBe(0);
    quota.take(3);
    quota.leave(first);
    expect(quota.enter().room).toBe(SUSPECT_ROOM - 3);
  });

  it('wakes whoever had no room once there is some, and one at a time', () => {
    const quota = new SuspectQuota();
    const woken: string[] = [];
    const first = quota.enter();
    for (const name of ['a', 'b']) quota.await({ lookAgain: () => woken.push(name) }, quota.enter());
    quota.leave(first);
    expect(woken).toEqual(['a']);
    const second = quota.enter();
    quota.leave(second);
    expect(woken).toEqual(['a', 'b']);
  });

  it('wakes at once whoever hears that it had no room when there is some again', () => {
    const quota = new SuspectQuota();
    const woken: string[] = [];
    const first = quota.enter();
    const second = quota.enter();
    quota.leave(first);
    quota.await({ lookAgain: () => woken.push('second') }, second);
    expect(woken).toEqual(['second']);
  });

  it('does not wake whoever has seen all the room there is, before there is more', () => {
    const quota = new SuspectQuota();
    const woken: string[] = [];
    quota.take(1);
    const room = quota.enter();
    quota.await({ lookAgain: () => woken.push('alone') }, room);
    quota.leave(room);
    expect(woken).toEqual([]);
    quota.release(1);
    expect(woken).toEqual(['alone']);
  });

  it('forgets whoever does not wait any more', () => {
    const quota = new SuspectQuota();
    const taker = {
      lookAgain: () => {
        throw new Error('forgotten');
      },
    };
    quota.take(SUSPECT_ROOM);
    quota.await(taker, { room: 0 });
    quota.forget(taker);
    quota.release(SUSPECT_ROOM);
    expect(quota.enter().room).toBe(SUSPECT_ROOM);
  });
});
