/** A timer set on a {@link Clock}. */
export interface Timer {
  /** Stops the timer; afterwards, or once it has fired, this does nothing. */
  cancel(): void;
}

/** Time as the runtime sees it; tests can move it by hand. */
export interface Clock {
  /** Returns milliseconds since the epoch, with fractions. Never goes backwards, so it drifts from a wall clock that is set. */
  now(): number;
  /** Calls `callback` once, `delay` milliseconds from now (at once if it is 0 or less). Any length is allowed. */
  setTimer(delay: number, callback: () => void): Timer;
}

/** Longest delay `setTimeout` can hold (2³¹ − 1 ms, 24.8 days); a longer one would fire after 1 ms. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/** Cached, since it never changes, and reading it costs half as much as reading the time. */
const { timeOrigin } = performance;

/** Clock of this process. */
export class SystemClock implements Clock {
  now(): number {
    return timeOrigin + performance.now();
  }

  setTimer(delay: number, callback: () => void): Timer {
    const fireAt = this.now() + delay;
    let timeout: NodeJS.Timeout;
    const arm = (remaining: number): void => {
      timeout =
        remaining <= MAX_TIMEOUT
          ? setTimeout(callback, Math.max(0, remaining))
          : setTimeout(() => arm(fireAt - this.now()), MAX_TIMEOUT);
    };
    arm(delay);
    return { cancel: () => clearTimeout(timeout) };
  }
}
