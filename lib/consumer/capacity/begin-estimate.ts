import { AT_ONCE, type BeginWindow, type Begins, MAX_BEGIN_WINDOW } from '../../broker/broker.interface.js';
import type { Clock } from '../../time/clock.js';
import { sleep } from '../../time/sleep.js';

/** The least for which deliveries may begin, in milliseconds: timers are not exact. */
const LEAST_SLACK = 20;

/** How exactly the clock of Redis is known, in milliseconds. */
export const EXACTNESS = 2;

/** How much of what was measured last is forgotten with each measurement. */
const FORGETTING = 0.05;

/** A little more than what was measured. */
const MARGIN = 1.2;

/**
 * How long it takes this process from the call that permits deliveries until they can begin, and how exactly it keeps to a time: by the way to
 * Redis and back, and by what keeps its event loop busy. What it asks for follows that, so that what is permitted is not over before it can be used.
 */
export class BeginEstimate {
  #way = 0;
  #delay = Math.floor(AT_ONCE.slack / MARGIN);
  /** How long calls take that take least. */
  #call = 0;

  /** What to ask for permits with, of which the next are asked for so long after this call as it is told. */
  get window(): BeginWindow {
    const slack = Math.min(MAX_BEGIN_WINDOW / 2, Math.max(LEAST_SLACK, Math.ceil(this.#delay * MARGIN)));
    return {
      lead: Math.min(MAX_BEGIN_WINDOW - slack, Math.ceil(this.#way * MARGIN)),
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

  /** Deliveries could begin so many milliseconds after that was permitted. */
  ready(way: number): void {
    this.#way = followed(this.#way, way);
  }

  /** Deliveries begin, so many milliseconds after the first moment at which they could and might. */
  began(delay: number): void {
    this.#delay = followed(this.#delay, delay);
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
    if (!this.#isReady) this.#estimate.ready(Math.max(0, now - (this.from - this.#lead)));
    this.#isReady = true;
  }

  /** See {@link BeginEstimate.began}. */
  began(delay: number): void {
    if (!this.#hasBegun) this.#estimate.began(delay);
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
  for (const one of times) one.began(clock.now() - at);
}

/** What is expected after a measurement: at once up, and slowly down. */
export function followed(before: number, measured: number): number {
  return measured >= before ? measured : mixed(before, measured);
}

function mixed(before: number, measured: number): number {
  return before * (1 - FORGETTING) + measured * FORGETTING;
}
