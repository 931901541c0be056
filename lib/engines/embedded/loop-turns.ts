// Taken when this file is loaded: tests of applications may put fake timers in the place of the global ones.
const { setImmediate } = globalThis;
const now = performance.now.bind(performance);

/** After so much time in a row everything else of the process has its turn, in milliseconds. */
const SLICE = 5;

/**
 * Has the event loop go on while calls come one upon another: none of them waits for anything outside of the process, so nothing else would, neither
 * timers nor sockets, as long as each answer leads to another call. All of what has happened since the first call of a turn counts.
 */
export class LoopTurns {
  /** When the first call of this turn was made, in milliseconds. */
  #begunAt: number | undefined;
  #next: Promise<void> | undefined;

  /** @returns what an answer has to wait for; `undefined` if nothing does */
  pause(): Promise<void> | undefined {
    const time = now();
    if (this.#begunAt === undefined) {
      this.#begunAt = time;
      this.#next = new Promise((resolve) => {
        setImmediate(() => {
          this.#begunAt = undefined;
          resolve();
        });
      });
    }
    return time - this.#begunAt >= SLICE ? this.#next : undefined;
  }
}
