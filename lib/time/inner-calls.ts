/** Called with the end of what still runs. */
export type Outlived = (ended: Promise<void>) => void;

/**
 * Calls that are made within another one, and may go on when that has ended: an interceptor or a middleware may give up waiting. Two
 * runs of one message must not overlap, so whoever made the outer call has to know.
 */
export class InnerCalls {
  #running = 0;
  readonly #onIdle: (() => void)[] = [];

  /** @returns has to be called at the end of the call */
  begin(): () => void {
    this.#running++;
    return () => {
      if (--this.#running === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
    };
  }

  /** Follows a call until it is settled. */
  follow<T>(call: Promise<T>): Promise<T> {
    const end = this.begin();
    call.then(end, end);
    return call;
  }

  get running(): boolean {
    return this.#running > 0;
  }

  /** Resolves once none runs. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }
}

/**
 * Makes a call, and tells before it settles if calls within it still run.
 *
 * @param call has to begin its inner calls with what it is given
 */
export async function withInnerCalls<T>(
  call: (inner: InnerCalls) => Promise<T>,
  outlived: Outlived | undefined,
): Promise<T> {
  const inner = new InnerCalls();
  try {
    return await call(inner);
  } finally {
    if (inner.running) outlived?.(inner.idle());
  }
}
