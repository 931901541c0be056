import { AT_ONCE, type BeginWindow, type Begins, MAX_BEGIN_WINDOW } from '../../store/deliveries/permits.js';
import type { Clock } from '../../time/clock.js';
import { sleep } from '../../time/sleep.js';
import { ExpectedTime, mixed } from './expected-time.js';

/** The least for which deliveries may begin, in milliseconds: timers are not exact. */
const LEAST_SLACK = 20;

/** How exactly the clock of Redis is known, in milliseconds. */
export const EXACTNESS = 2;

/** A little more than what was measured. */
const MARGIN = 1.2;

/**
 * How long it takes this process from the call that permits deliveries until they can begin, and how exactly it keeps to a time: by the way to
 * Redis and back, and by what keeps its event loop busy. What it asks for follows that, so that what is permitted is not over before it can be used.
 */
export class BeginEstimate {
  readonly #way = new ExpectedTime();
  readonly #delay = new ExpectedTime(Math.floor(AT_ONCE.slack / MARGIN));
  /** How long calls take that take least. */
  #call = 0;

  /** What to ask for permits with, of which the next are asked for so long after this call as it is told. */
  get window(): BeginWindow {
    const slack = Math.min(MAX_BEGIN_WINDOW / 2, Math.max(LEAST_SLACK, Math.ceil(this.#delay.value * MARGIN)));
    return {
      lead: Math.min(MAX_BEGIN_WINDOW - slack, Math.ceil(this.#way.value * MARGIN)),
      slack,
      ahead: Math.round(slack / MARGIN),
    };
  }

  /** What to claim with, if the next claim is made at the time that it is told, by the clock of Redis. */
  get claimWindow(): BeginWindow {
    const { ahead, ...window } = this.window;
    return { ...window, ahead: ahead + Math.round(this.#call / 2) };
  }

  /** A call was answered after so many milliseconds. */
  answered(duration: number): void {
    this.#call = this.#call === 0 || duration < this.#call ? duration : mixed(this.#call, duration);
  }

  /** Deliveries could begin now that were permitted then; epoch milliseconds on the local clock. */
  ready(permittedAt: number, now: number): void {
    this.#way.measured(Math.min(permittedAt, now), now);
  }

  /** Deliveries begin now; before then they could not or might not. */
  began(from: number, now: number): void {
    this.#delay.measured(from, now);
  }
}

/** When a limit lets handlers be called; epoch milliseconds on the local clock. What is measured of it is measured once. */
export class BeginTimes {
  readonly from: number;
  readonly until: number;
  readonly #lead: number;
  readonly #estimate: BeginEstimate;
  #isReady = false;
  #hasBegun = false;

  /**
   * @param estimate what that was asked for by
   * @param begins as it was answered
   */
  constructor(estimate: BeginEstimate, begins: Begins) {
    this.#estimate = estimate;
    this.from = begins.from;
    this.until = begins.until - EXACTNESS;
    this.#lead = begins.lead;
  }

  /** Deliveries could begin now; epoch milliseconds on the local clock. */
  ready(now: number): void {
    if (!this.#isReady) this.#estimate.ready(this.from - this.#lead, now);
    this.#isReady = true;
  }

  /** See {@link BeginEstimate.began}. */
  began(from: number, now: number): void {
    if (!this.#hasBegun) this.#estimate.began(from, now);
    this.#hasBegun = true;
  }
}

/**
 * Waits for the time from which limits let a call begin, and notes how exactly that is met.
 *
 * @param of the deliveries of the call
 * @returns `undefined` if there is nothing to wait for
 */
export function whenPermitted(
  clock: Clock,
  of: readonly { readonly delivery: { readonly begin?: readonly BeginTimes[] | undefined } }[],
): Promise<void> | undefined {
  const times = new Set(of.flatMap(({ delivery }) => delivery.begin ?? []));
  if (times.size === 0) return undefined;
  const now = clock.now();
  for (const one of times) one.ready(now);
  const at = Math.max(...Array.from(times, ({ from }) => from));
  return at > now ? begun(clock, at, times) : undefined;
}

async function begun(clock: Clock, at: number, times: ReadonlySet<BeginTimes>): Promise<void> {
  for (let now = clock.now(); now < at; now = clock.now()) await sleep(clock, Math.ceil(at - now));
  for (const one of times) one.began(at, clock.now());
}
