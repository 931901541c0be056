import type { ReplicaRequirement } from '../messages/replicas.js';
import type { ScriptName, ScriptParameters } from './lua/lua-script.js';

/** A reply without its leading time stamp. */
export type Reply = readonly (string | number)[];

/** Arguments of a script besides the keys and the channel of a place; the driver adds the command by which scripts signal. */
export type Given<N extends ScriptName, P> = Omit<ScriptParameters<N>, keyof P | 'wake_command' | 'channel'>;

/** Commands that are sent without a script, with their replies as ioredis returns them. */
export interface PlainCommands {
  get(key: string): Promise<string | null>;
  hget(key: string, field: string): Promise<string | null>;
  hgetall(key: string): Promise<Record<string, string>>;
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>;
  hscan(key: string, cursor: string, count: 'COUNT', most: number): Promise<[cursor: string, entries: string[]]>;
  hscan(
    key: string,
    cursor: string,
    match: 'MATCH',
    pattern: string,
    count: 'COUNT',
    most: number,
  ): Promise<[cursor: string, entries: string[]]>;
  hset(key: string, field: string, value: string): Promise<number>;
  hsetnx(key: string, field: string, value: string): Promise<number>;
  xrevrange(
    key: string,
    end: string,
    start: string,
    count: 'COUNT',
    most: number,
  ): Promise<[id: string, fields: string[]][]>;
  zmscore(key: string, ...members: string[]): Promise<(string | null)[]>;
  zrangebylex(key: string, min: string, max: string, limit: 'LIMIT', offset: number, most: number): Promise<string[]>;
}

/** Ends a subscription. */
export type Unsubscribe = () => Promise<void>;

/** Runs the calls of the stores, on Redis or on the same data in this process. */
export interface Driver {
  /** Address of the data, for errors. */
  readonly address: string;
  /** Most places of one call. */
  readonly mostPlaces: number;

  /**
   * Runs a script; its head says in which order it takes its keys and arguments.
   *
   * @param place the keys and the channel of what the call is about
   * @param given other arguments of the script, by name
   * @param adds whether this call adds to what is stored, so that a full Redis has to refuse it; `undefined`: as its script always does
   * @throws BrokerUnavailableError
   */
  run<N extends ScriptName, P extends object>(name: N, place: P, given: Given<N, P>, adds?: boolean): Promise<Reply>;

  /**
   * Runs a script, and waits until replicas have confirmed what it wrote, or the requirement's time is over.
   *
   * @throws BrokerUnavailableError
   */
  runReplicated<N extends ScriptName, P extends object>(
    name: N,
    place: P,
    given: Given<N, P>,
    replicas: ReplicaRequirement,
  ): Promise<{ readonly reply: Reply; readonly confirmedBy: number }>;

  /**
   * Runs a script that only looks, for several places that one node holds.
   *
   * @param given the same for all
   * @returns a reply for each
   * @throws BrokerUnavailableError
   */
  runForEach<N extends ScriptName, P extends object>(
    name: N,
    places: readonly P[],
    given: Given<N, P>,
  ): Promise<readonly Reply[]>;

  /**
   * Makes a call of plain commands.
   *
   * @param keys that the call is about
   * @throws BrokerUnavailableError
   */
  call<T>(keys: readonly string[], command: (redis: PlainCommands) => Promise<T>): Promise<T>;

  /** @throws BrokerUnavailableError */
  publish(channel: string, message: string): Promise<void>;

  /** Returns the time of the server that holds the key, in epoch milliseconds. */
  now(key: string): number;

  /** Returns the local time at a time of the server that holds the key; both in epoch milliseconds. */
  toLocal(key: string, time: number): number;
}
