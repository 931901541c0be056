// Taken when this file is loaded: a test can replace the global timers with fake ones.
const { setImmediate, setTimeout, clearTimeout } = globalThis;
const now = performance.now.bind(performance);

/** Real time that passes while a test runs, whatever its clocks say, in milliseconds. */
export const realTime = { now, setTimeout, clearTimeout };

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
