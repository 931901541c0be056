const [FIRST_WAIT, LONGEST_WAIT] = [1000, 30_000];

/** Returns the wait after the given number of consecutive failures, in milliseconds. */
export function waitAfter(failures: number): number {
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1));
}

/**
 * Tries until it succeeds, less and less often; returns a function that ends that.
 *
 * @param failed called after each failed attempt
 */
export function tryUntilDone(attempt: () => Promise<void>, failed: (error: unknown) => void = () => {}): () => void {
  let isWanted = true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tryAgain = async (failures: number): Promise<void> => {
    try {
      await attempt();
    } catch (error) {
      if (!isWanted) return;
      failed(error);
      timer = setTimeout(() => void tryAgain(failures + 1), waitAfter(failures + 1));
    }
  };
  void tryAgain(0);
  return () => {
    isWanted = false;
    clearTimeout(timer);
  };
}
