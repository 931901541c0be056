// Taken when this file is loaded: a test may put fake timers in the place of the global ones.
const { setImmediate, setTimeout, clearTimeout } = globalThis;
const now = performance.now.bind(performance);

/** The time that passes while a test runs, whatever its clocks say. In milliseconds. */
export const realTime = { now, setTimeout, clearTimeout };

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
