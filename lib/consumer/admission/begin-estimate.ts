import { AT_ONCE, type BeginWindow, type Begins, MAX_BEGIN_WINDOW } from '../../store/deliveries/permits.js';
import type { Clock } from '../../time/clock.js';
import { sleep } from '../../time/sleep.js';
import { ExpectedTime, mixed } from './expected-time.js';

/** Shortest window in which deliveries can begin, in milliseconds: timers are not exact. */
const LEAST_SLACK = 20;

/** Precision to which the clock of Redis is known, in milliseconds. */
export const EXACTNESS = 2;

/** Safety factor on measured times. */
const MARGIN = 1.2;

/**
 * Estimates how long this process takes from the call that permits deliveries until they can begin, and how punctual it is: both depend on
 * the round trip to Redis and on how busy its event loop is. It asks for permits accordingly, so that they do not expire before they can be
 * used.
 */
export class BeginEstimate {
  readonly #way = new ExpectedTime();
  readonly #delay = new ExpectedTime(Math.floor(AT_ONCE.slack / MARGIN));
  /** Duration of the fastest calls. */
  #call = 0;

  /** Window for a request for permits, if the next request follows this one after the time that the answer names. */
  get window(): BeginWindow {
    const slack = Math.min(MAX_BEGIN_WINDOW / 2, Math.max(LEAST_SLACK, Math.ceil(this.#delay.value * MARGIN)));
    return {
      lead: Math.min(MAX_BEGIN_WINDOW - slack, Math.ceil(this.#way.value * MARGIN)),
      slack,
      ahead: Math.round(slack / MARGIN),
    };
  }

  /** Window for a claim, if the next claim is made at the time that the answer names, by the clock of Redis. */
  get claimWindow(): BeginWindow {
    const { lead, slack, ahead } = this.window;
    return { lead, slack, ahead: ahead + Math.round(this.#call / 2) };
  }

  /** Records how long a call took to be answered, in milliseconds. */
  answered(duration: number): void {
    this.#call = this.#call === 0 || duration < this.#call ? duration : mixed(this.#call, duration);
  }

  /** Records that deliveries permitted at `permittedAt` can begin now; epoch milliseconds on the local clock. */
  ready(permittedAt: number, now: number): void {
    this.#way.measured(Math.min(permittedAt, now), now);
  }

  /** Records that deliveries begin now; before `from` they could not, or were not allowed to. */
  began(from: number, now: number): void {
    this.#delay.measured(from, now);
  }
}

/** Time in which a limit lets handlers be called, in epoch milliseconds on the local clock. It is measured only once. */
export class BeginTimes {
  readonly from: number;
  readonly until: number;
  readonly #lead: number;
  readonly #estimate: BeginEstimate;
  #isReady = false;
  #hasBegun = false;

  /**
   * @param estimate the estimate that the request was based on
   * @param begins the broker's answer
   */
  constructor(estimate: BeginEstimate, begins: Begins) {
    this.#estimate = estimate;
    this.from = begins.from;
    this.until = begins.until - EXACTNESS;
    this.#lead = begins.lead;
  }

  /** Records that deliveries can begin now; epoch milliseconds on the local clock. */
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
 * Waits until limits let a call begin, and notes how punctual that is.
 *
 * @param of deliveries of the call
 * @returns `undefined` if there is nothing to wait for
 */
export function whenPermitted(
  clock: Clock,
  of: readonly { readonly begin?: readonly BeginTimes[] | undefined }[],
): Promise<void> | undefined {
  // Most topics have no limits: nothing is made for them.
  if (of.every(({ begin }) => begin === undefined)) return undefined;
  const times = new Set(of.flatMap(({ begin }) => begin ?? []));
  const now = clock.now();
  for (const one of times) one.ready(now);
  const at = Math.max(...Array.from(times, ({ from }) => from));
  return at > now ? begun(clock, at, times) : undefined;
}

async function begun(clock: Clock, at: number, times: ReadonlySet<BeginTimes>): Promise<void> {
  for (let now = clock.now(); now < at; now = clock.now()) await sleep(clock, Math.ceil(at - now));
  for (const one of times) one.began(at, clock.now());
}
