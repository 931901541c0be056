import type { EventEntry, EventLog, EventReader } from '../broker.interface.js';
import { EventFollower } from './event-follower.js';
import type { RedisConnection } from './redis-connection.js';
import type { ScriptRunner } from './script-runner.js';

/** Keeps events in one stream; what the script does is in `lua/append-events.lua`. */
export class RedisEventLog implements EventLog {
  readonly #connection: RedisConnection;
  readonly #scripts: ScriptRunner;
  readonly #key: string;
  readonly #followers = new Set<EventFollower>();
  #connected = false;

  constructor(connection: RedisConnection, scripts: ScriptRunner, key: string) {
    this.#connection = connection;
    this.#scripts = scripts;
    this.#key = key;
  }

  async append({ process, sequence, count, dropped, events }: EventEntry, keep: number): Promise<void> {
    await this.#scripts.run('append-events', [this.#key], [keep, process, sequence, count, dropped, events]);
  }

  follow(reader: EventReader): () => Promise<void> {
    const follower = new EventFollower(this.#connection, this.#key, reader);
    this.#followers.add(follower);
    // A command that is sent before would connect, and be in the way of who looks at the server first.
    if (this.#connected) void follower.start();
    return async () => {
      this.#followers.delete(follower);
      await follower.stop();
    };
  }

  /** To be called once the connections are there. */
  start(): void {
    this.#connected = true;
    for (const follower of this.#followers) void follower.start();
  }

  async stop(): Promise<void> {
    const followers = [...this.#followers];
    this.#followers.clear();
    await Promise.all(followers.map((follower) => follower.stop()));
  }
}
