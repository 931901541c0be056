/** Whoever waits for a signal: many calls may be given the same one, and Node takes eleven listeners for a leak. */
const WAITING = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls a listener when a signal aborts; one that has aborted already calls nobody.
 *
 * @returns a function that ends it
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const waiting = WAITING.get(signal) ?? listenTo(signal);
  waiting.add(listener);
  return () => waiting.delete(listener);
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const waiting = new Set<() => void>();
  WAITING.set(signal, waiting);
  signal.addEventListener('abort', () => waiting.forEach((listener) => listener()), { once: true });
  return waiting;
}
