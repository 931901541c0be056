import type { PartitionSignal } from './fleet/signals.js';

type Listener = (signal: PartitionSignal) => void;

/**
 * Who of this process follows the signals of a partition, by its channel. What the reply of a call says need not come by a signal, which may get
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
