import { AT_ONCE, type BeginWindow, type BeginsIn, MAX_BEGIN_WINDOW } from '../broker/broker.interface.js';
import type { Clock } from '../time/clock.js';
import { sleep } from '../time/sleep.js';

/** When a limit lets handlers be called; epoch milliseconds on the local clock. */
export interface BeginTimes {
  readonly from: number;
  readonly until: number;
  /** How long after the call that has permitted it `from` is, in milliseconds. */
  readonly lead: number;
  /** What that was asked for by. */
  readonly estimate: BeginEstimate;
}

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

  /** What to ask for. */
  get window(): BeginWindow {
    const slack = Math.min(MAX_BEGIN_WINDOW / 2, Math.max(LEAST_SLACK, Math.ceil(this.#delay * MARGIN)));
    return { lead: Math.min(MAX_BEGIN_WINDOW - slack, Math.ceil(this.#way * MARGIN)), slack };
  }

  /** @param now when what was asked for with this lead is answered, epoch milliseconds on the local clock */
  timesOf({ from, until }: BeginsIn, lead: number, now: number): BeginTimes {
    return { from: now + from, until: now + until - EXACTNESS, lead, estimate: this };
  }

  /** Deliveries could begin now; epoch milliseconds on the local clock. */
  ready({ from, lead }: BeginTimes, now: number): void {
    this.#way = followed(this.#way, Math.max(0, now - (from - lead)));
  }

  /** Deliveries begin, so many milliseconds after the first moment at which they could and might. */
  began(delay: number): void {
    this.#delay = followed(this.#delay, delay);
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
  for (const one of times) one.estimate.ready(one, now);
  const at = Math.max(...Array.from(times, ({ from }) => from));
  return at > now ? begun(clock, at, times) : undefined;
}

async function begun(clock: Clock, at: number, times: ReadonlySet<BeginTimes>): Promise<void> {
  for (let now = clock.now(); now < at; now = clock.now()) await sleep(clock, Math.ceil(at - now));
  for (const { estimate } of times) estimate.began(clock.now() - at);
}

/** At once up, and slowly down. */
function followed(before: number, measured: number): number {
  return measured >= before ? measured : before * (1 - FORGETTING) + measured * FORGETTING;
}
