import type { Unsubscribe } from '../../store/driver.interface.js';

/** Those who listen, by what they listen to. They are told a moment later, as over a connection. */
export class Listeners<T> {
  readonly #all = new Map<string, Set<(message: T) => void>>();

  add(channel: string, listener: (message: T) => void): Unsubscribe {
    const listeners = this.#all.get(channel) ?? new Set();
    this.#all.set(channel, listeners.add(listener));
    return async () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#all.get(channel) === listeners) this.#all.delete(channel);
    };
  }

  tell(channel: string, message: T): void {
    const listeners = this.#all.get(channel) ?? [];
    for (const listener of listeners) {
      queueMicrotask(() => {
        if (this.#all.get(channel)?.has(listener)) listener(message);
      });
    }
  }
}
