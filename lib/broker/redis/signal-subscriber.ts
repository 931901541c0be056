import type { Unsubscribe } from '../broker.interface.js';
import type { RedisConnection } from './redis-connection.js';

type Listener = (message: string) => void;

/** Receives what other processes publish on channels. ioredis subscribes again by itself after a reconnect. */
export class SignalSubscriber {
  readonly #connection: RedisConnection;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    const deliver = (channel: string, message: string): void => {
      for (const listener of this.#listeners.get(channel) ?? []) listener(message);
    };
    connection.subscriber.on('message', deliver);
    connection.subscriber.on('smessage', deliver);
  }

  /** @throws BrokerUnavailableError */
  async subscribe(channel: string, listener: Listener): Promise<Unsubscribe> {
    let listeners = this.#listeners.get(channel);
    if (!listeners) this.#listeners.set(channel, (listeners = new Set()));
    listeners.add(listener);
    try {
      const { subscriber, sharded } = this.#connection;
      await (sharded ? subscriber.ssubscribe(channel) : subscriber.subscribe(channel));
    } catch (error) {
      listeners.delete(listener);
      throw this.#connection.toError(error);
    }
    return () => this.#unsubscribe(channel, listener);
  }

  async #unsubscribe(channel: string, listener: Listener): Promise<void> {
    const listeners = this.#listeners.get(channel);
    if (!listeners?.delete(listener) || listeners.size > 0) return;
    this.#listeners.delete(channel);
    try {
      const { subscriber, sharded } = this.#connection;
      await (sharded ? subscriber.sunsubscribe(channel) : subscriber.unsubscribe(channel));
    } catch {
      // The connection is gone, and the subscription with it.
    }
  }
}
