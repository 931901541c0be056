import { expect, it } from 'vitest';
import { renewPermits } from '../../../../lib/consumer/admission/late-permits.js';
import { FlightTerm, type LimitedClaimant, Permits } from '../../../../lib/consumer/admission/permits.js';
import { beginTimes } from '../../../support/units/begin-times.js';
import { RunBed } from '../../../support/units/run-bed.js';
import { turns } from '../../../support/units/test-claimant.js';

const OWNER = { unused: () => {}, ended: () => {} };

/** Gives what is left, and tells whoever got nothing. */
class Source {
  left: number | undefined = 0;
  readonly waiting = new Set<LimitedClaimant>();
  readonly #bed: RunBed;

  constructor(bed: RunBed) {
    this.#bed = bed;
  }

  permits(count: number, until: number): Permits {
    const begin = beginTimes({ until });
    return new Permits(OWNER, { count, permittedAt: 1, begin, term: undefined });
  }

  async take(claimant: LimitedClaimant, wanted: number): Promise<Permits> {
    const count = Math.min(wanted, this.left ?? 0);
    if (this.left !== undefined) this.left -= count;
    if (count === 0 && this.left !== undefined) this.waiting.add(claimant);
    return this.permits(count, this.#bed.clock.now() + 50);
  }

  keepsWaiting(claimant: LimitedClaimant): boolean {
    return this.waiting.has(claimant);
  }

  tell(): void {
    const told = [...this.waiting];
    this.waiting.clear();
    for (const claimant of told) claimant.lookAgain();
  }
}

it('renews what is over, one by one as limits allow it, and leaves the rest', async () => {
  const bed = new RunBed();
  const limiter = new Source(bed);
  const deliveries = ['a', 'b', 'c'].map((id) => bed.delivery(id));
  const untils = [bed.clock.now() - 1, bed.clock.now() - 1, bed.clock.now()];
  for (const [i, delivery] of deliveries.entries()) {
    delivery.permits = limiter.permits(1, untils[i] as number);
    delivery.begin = delivery.permits.begin && [delivery.permits.begin];
  }
  let renewed: boolean | undefined;
  void renewPermits(bed.clock, limiter, deliveries).then((result) => (renewed = result));
  for (let i = 0; i < 2; i++) {
    await turns(5);
    expect(renewed).toBeUndefined();
    limiter.left = 1;
    limiter.tell();
  }
  await turns(5);
  expect(renewed).toBe(true);
  const now = bed.clock.now();
  expect(deliveries.map(({ mustBeginBy }) => mustBeginBy - now)).toEqual([50, 50, 0]);
  expect(await renewPermits(bed.clock, limiter, deliveries)).toBe(false);
});

it('renews what may not be in flight any more, since its process was away for a lease', async () => {
  const bed = new RunBed();
  const limiter = new Source(bed);
  limiter.left = 1;
  const late = bed.delivery('late');
  const term = Object.assign(new FlightTerm(), { endsAt: bed.clock.now() });
  late.permits = new Permits(OWNER, { count: 1, permittedAt: 0, begin: undefined, term });
  expect(late.permits.mayBegin(bed.clock.now())).toBe(false);
  expect(await renewPermits(bed.clock, limiter, [late])).toBe(true);
  expect(late.permits.endsAt).toBe(Infinity);
});

it('lets them begin once there will be no permits any more', async () => {
  const bed = new RunBed();
  const limiter = new Source(bed);
  const late = bed.delivery('late');
  late.permits = limiter.permits(1, bed.clock.now() - 1);
  late.begin = late.permits.begin && [late.permits.begin];
  limiter.left = undefined;
  expect(await renewPermits(bed.clock, limiter, [late])).toBe(true);
  expect(late.mustBeginBy).toBe(Infinity);
});
