import type { Clock } from '../../time/clock.js';
import type { BrokerLink } from '../broker.interface.js';
import type { ServerClock } from '../server-clock.js';
import type { RedisConnection } from './redis-connection.js';
import type { SignalSubscriber } from './signal-subscriber.js';

export interface RedisLinkOptions {
  readonly connection: RedisConnection;
  readonly subscriber: SignalSubscriber;
  readonly clock: Clock;
  readonly serverClock: ServerClock;
}

/** The connections to Redis, as whoever watches over them sees them. */
export class RedisLink implements BrokerLink {
  readonly #options: RedisLinkOptions;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
  }

  get isUp(): boolean {
    return this.#options.connection.isUp('commands');
  }

  /** Asks for the time, so the answer is of use. */
  async ping(): Promise<void> {
    const { connection, clock, serverClock } = this.#options;
    const sentAt = clock.now();
    const [seconds, microseconds] = await connection.send((redis) => redis.time());
    serverClock.observe(Number(seconds) * 1000 + Number(microseconds) / 1000, sentAt);
  }

  async listen(): Promise<void> {
    await this.#options.subscriber.confirm();
  }

  rebuild(connection: 'calls' | 'signals'): void {
    this.#options.connection.rebuild(connection === 'calls' ? 'commands' : 'subscriber');
  }
}
