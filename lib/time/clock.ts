/** A timer that was set on a {@link Clock}. */
export interface Timer {
  /** Stops the timer; afterwards, or once it has fired, this does nothing. */
  cancel(): void;
  /** Lets the process end although the timer has not fired. */
  unref(): void;
}

/** Time as the runtime sees it, so that tests can move it by hand. */
export interface Clock {
  /** Milliseconds since the epoch, with fractions. Never goes backwards, so it drifts from a wall clock that was set. */
  now(): number;
  /** Calls `callback` once, `delay` milliseconds from now (at once if it is 0 or less). Any length is allowed. */
  setTimer(delay: number, callback: () => void): Timer;
}

/** Longest delay `setTimeout` can hold (2³¹ − 1 ms, 24.8 days); a longer one would fire after 1 ms. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/** Kept, since it stays the same, and asking for it costs half as much as asking for the time. */
const { timeOrigin } = performance;

/** The clock of this process. */
export class SystemClock implements Clock {
  now(): number {
    return timeOrigin + performance.now();
  }

  setTimer(delay: number, callback: () => void): Timer {
    const fireAt = this.now() + delay;
    let timeout: NodeJS.Timeout;
    let isHeld = true;
    const arm = (remaining: number): void => {
      timeout =
        remaining <= MAX_TIMEOUT
          ? setTimeout(callback, Math.max(0, remaining))
          : setTimeout(() => arm(fireAt - this.now()), MAX_TIMEOUT);
      if (!isHeld) timeout.unref();
    };
    arm(delay);
    return {
      cancel: () => clearTimeout(timeout),
      unref: () => {
        isHeld = false;
        timeout.unref();
      },
    };
  }
}
