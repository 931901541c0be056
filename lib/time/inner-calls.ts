/** Called with the end of the calls that still run. */
export type Outlived = (ended: Promise<void>) => void;

/**
 * Tracks calls within another one that can outlive it: an interceptor or a middleware can give up waiting. Two runs of one message must not
 * overlap, so the caller of the outer one has to know.
 */
export class InnerCalls {
  #running = 0;
  readonly #onIdle: (() => void)[] = [];

  /** @returns a function to call at the end of the call */
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
 * Makes a call, and reports before it settles if calls within it still run.
 *
 * @param call has to begin its inner calls on the given tracker
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
