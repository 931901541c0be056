import type { Clock } from '../../time/clock.js';
import { sleep } from '../../time/sleep.js';
import type { Startable } from '../../time/startable.interface.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import type { EventEntry, EventLog, EventReader } from '../../store/records/event-log.interface.js';
import type { RedisClient } from './connection/redis-clients.js';
import type { RedisConnection } from './connection/redis-connection.js';
import type { StoreKeys } from '../../store/keys.js';
import type { ScriptRunner } from './scripts/script-runner.js';

/** Time that a read waits for entries, in milliseconds; a connection that is silent for longer is taken for dead. */
const BLOCK = 5000;

/** Most entries of a read. */
const COUNT = 16;

/** Pause between a failed read and the next, in milliseconds. */
const PAUSE = 250;

type StreamEntry = [id: string, fields: string[]];

export interface RedisEventLogOptions {
  readonly connection: RedisConnection;
  readonly scripts: ScriptRunner;
  readonly keys: StoreKeys;
  readonly clock: Clock;
}

/** Keeps events in one stream; `lua/append-events.lua` says how. */
export class RedisEventLog implements EventLog {
  readonly #options: RedisEventLogOptions;
  readonly #followers = new Set<EventFollower>();
  #connected = false;

  constructor(options: RedisEventLogOptions) {
    this.#options = options;
  }

  async append({ process, sequence, count, dropped, events }: EventEntry, keep: number): Promise<void> {
    const { scripts, keys } = this.#options;
    const given = { events: keys.events, keep, process, sequence, count, dropped, entry: events };
    await scripts.run('append-events', {}, given);
  }

  follow(reader: EventReader): () => Promise<void> {
    const follower = new EventFollower(this.#options, reader);
    this.#followers.add(follower);
    // A command that is sent earlier would connect before the server was checked.
    if (this.#connected) void follower.start();
    return async () => {
      this.#followers.delete(follower);
      await follower.stop();
    };
  }

  /** Call this once the connections are there. */
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

/** Reads a stream of events on a connection of its own, since a read that waits would keep other commands waiting. */
class EventFollower implements Startable {
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  readonly #key: string;
  readonly #reader: EventReader;
  readonly #stop = new AbortController();
  #client: RedisClient | undefined;
  #following: Promise<void> | undefined;
  /** Number of events that were appended up to the last one read; see `lua/append-events.lua`. */
  #offset: number | undefined;

  constructor({ connection, keys, clock }: RedisEventLogOptions, reader: EventReader) {
    this.#connection = connection;
    this.#clock = clock;
    this.#key = keys.events;
    this.#reader = reader;
  }

  /** Resolves once it is stopped. */
  async start(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#following ??= this.#follow();
    await this.#following;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#client?.disconnect();
    await this.#following;
  }

  /** Never rejects. */
  async #follow(): Promise<void> {
    // The connection for commands keeps the order of what this process appends after it began to follow.
    let client = this.#connection.commands;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#locate(client);
        client = this.#client ??= this.#connection.openAnother();
        while (!this.#stop.signal.aborted) await this.#read(client);
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        this.#reader.onError(this.#connection.toError(error));
        await sleep(this.#clock, PAUSE, this.#stop.signal);
      }
    }
    this.#client?.disconnect();
  }

  /** Finds out where to begin; and later, whether the stream goes on from there. */
  async #locate(client: RedisClient): Promise<void> {
    const [last] = await client.xrevrange(this.#key, '+', '-', 'COUNT', 1);
    const end = last ? offsetOf(last) : 0;
    if (this.#offset !== undefined && end < this.#offset) {
      this.#reader.onError(
        new BrokerUnavailableError(
          `Redis at ${this.#connection.address} has lost fleet events: their stream ended at ${this.#offset}, and now at ${end}`,
        ),
      );
    }
    this.#offset = Math.min(this.#offset ?? end, end);
  }

  async #read(client: RedisClient): Promise<void> {
    const from = `${this.#offset ?? 0}-0`;
    const reply = await client.xread('COUNT', COUNT, 'BLOCK', BLOCK, 'STREAMS', this.#key, from);
    const [, entries] = reply?.[0] ?? [];
    if (!entries) return this.#locate(client);
    for (const entry of entries) this.#tell(entry);
    return undefined;
  }

  #tell(entry: StreamEntry): void {
    const { p = '', s, n, d, e = '' } = fieldsOf(entry);
    const count = Number(n);
    const offset = offsetOf(entry);
    const missed = offset - count - (this.#offset ?? 0);
    this.#offset = offset;
    this.#reader.onEntry({ process: p, sequence: Number(s), count, dropped: Number(d), events: e, missed });
  }
}

function offsetOf([id]: StreamEntry): number {
  return Number.parseInt(id, 10);
}

function fieldsOf([, fields]: StreamEntry): Readonly<Record<string, string>> {
  const pairs: Record<string, string> = {};
  for (let i = 0; i < fields.length; i += 2) pairs[fields[i] as string] = fields[i + 1] as string;
  return pairs;
}
