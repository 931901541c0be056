import type { PartitionSignal } from './fleet/signals.js';

type Listener = (signal: PartitionSignal) => void;

/**
 * Listeners of this process to the signals of a partition, by its channel. News in the reply of a call need not come by a signal, which can get
 * lost.
 */
export class PartitionWatchers {
  readonly #listeners = new Map<string, Set<Listener>>();

  /** @returns a function that ends it */
  add(channel: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(channel) === listeners) this.#listeners.delete(channel);
    };
  }

  tell(channel: string, signal: PartitionSignal): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(signal);
  }
}
