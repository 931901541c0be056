import type { Clock } from '../../time/clock.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import type { ServerClock } from '../server-clock.js';
import type { RedisClient } from './redis-clients.js';
import type { RedisConnection } from './redis-connection.js';
import type { Log } from '../../log.js';
import { isNoScript, isWrongType } from './redis-errors.js';
import { asideOf, typeOfKey } from './redis-keys.js';
import type { Argument, ScriptParameters } from './lua/script-table.js';
import { type Script, type ScriptName, SCRIPT_NAMES, scriptOf } from './scripts.js';

type Scripts = Readonly<Record<ScriptName, Script>>;

/**
 * Lets a script write although Redis has reached its maxmemory: all but those that add to it (publishing, appending
 * events) have to, since handling messages is what frees memory. Redis knows script flags since version 7; an older one
 * that is full has to be given room first.
 */
const ALLOW_OOM = '#!lua flags=allow-oom\n';

/** A reply without its leading time stamp. */
export type Reply = readonly (string | number)[];

type Names = Readonly<Record<string, Argument | readonly Argument[] | undefined>>;

/** What a script takes besides the keys and the channel of a place; the runner knows the command by which scripts signal. */
export type Given<N extends ScriptName, P> = Omit<ScriptParameters[N], keyof P | 'wake_command' | 'channel'>;

/** Told of each script that was answered, and of its round trip in milliseconds. */
export type ScriptObserver = (name: ScriptName, duration: number) => void;

export interface ScriptRunnerOptions {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  readonly serverClock: ServerClock;
  readonly log: Log;
  readonly onScript: ScriptObserver | undefined;
}

/** Runs scripts by their hash; a server that does not have one (restarted, or flushed) is sent the source. */
export class ScriptRunner {
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  readonly #serverClock: ServerClock;
  readonly #plain: Scripts;
  readonly #flagged: Scripts;
  readonly #log: Log;
  readonly #observer: ScriptObserver | undefined;

  constructor({ connection, clock, serverClock, log, onScript }: ScriptRunnerOptions) {
    this.#connection = connection;
    this.#clock = clock;
    this.#serverClock = serverClock;
    this.#log = log;
    this.#observer = onScript;
    this.#plain = allScripts('');
    const { publish, 'append-events': appendEvents } = this.#plain;
    this.#flagged = { ...allScripts(ALLOW_OOM), publish, 'append-events': appendEvents };
  }

  /**
   * Runs a script; its head says in which order it takes its keys and arguments. Every reply begins with the server's time in
   * microseconds; it is noted and cut off.
   *
   * @param place the keys and the channel of what the call is about
   * @param given what else the script takes, by name
   * @throws BrokerUnavailableError
   */
  async run<N extends ScriptName, P extends object>(name: N, place: P, given: Given<N, P>): Promise<Reply> {
    // By which command a script signals is known once connected.
    if (!this.#connection.isOpen) await this.#connection.ready();
    const script = (this.#connection.isRedis7 ? this.#flagged : this.#plain)[name];
    const values = this.#valuesOf(script, place as Names, given as Names);
    try {
      return await this.#send(script, values);
    } catch (error) {
      const keys = values.slice(0, script.keys.length) as string[];
      return this.#mend(keys, error, () => this.#send(script, values));
    }
  }

  /**
   * Makes a call of plain commands.
   *
   * @param keys that the call is about
   * @throws BrokerUnavailableError
   */
  async call<T>(keys: readonly string[], command: (redis: RedisClient) => Promise<T>): Promise<T> {
    try {
      return await this.#connection.send(command);
    } catch (error) {
      return this.#mend(keys, error, () => this.#connection.send(command));
    }
  }

  /**
   * Makes a call again that has met a key of another type than ours, which some other program has put there, once that key is
   * set aside: nothing of that partition could go on otherwise.
   *
   * @param error what the call failed with; it has written nothing
   */
  async #mend<T>(keys: readonly string[], error: unknown, call: () => Promise<T>): Promise<T> {
    const failure = this.#connection.toError(error);
    if (!isWrongType(failure.message) || !(await this.#setAside(keys, failure))) throw failure;
    try {
      return await call();
    } catch (secondError) {
      throw this.#connection.toError(secondError);
    }
  }

  /** Answers whether there was any. */
  async #setAside(keys: readonly string[], failure: Error): Promise<boolean> {
    const set: string[] = [];
    for (const key of keys) {
      const type = typeOfKey(key);
      if (type === undefined) continue;
      const [isSet] = await this.run('set-keys-aside', { key, aside: asideOf(key) }, { expected_type: type });
      if (isSet === 1) set.push(asideOf(key));
    }
    if (set.length === 0) return false;
    const text =
      `Another program has written over keys of this module in Redis at ${this.#connection.address}; what they held is ` +
      `lost, and what it wrote was set aside as ${set.join(', ')}`;
    this.#log.error(text);
    this.#connection.tellError(new BrokerUnavailableError(text, { cause: failure, transient: false, refused: true }));
    return true;
  }

  /** The keys and arguments in the order of the script's head. */
  #valuesOf({ keys, args, takesMore }: Script, place: Names, given: Names): Argument[] {
    const values: Argument[] = [];
    for (const name of keys) values.push((place[name] ?? given[name]) as string);
    for (const name of args) {
      if (name === 'wake_command') values.push(this.#connection.publishCommand);
      else values.push((name === 'channel' ? place[name] : given[name]) as Argument);
    }
    if (takesMore) values.push(...(given['rest'] as readonly Argument[]));
    return values;
  }

  async #send(script: Script, values: readonly Argument[]): Promise<Reply> {
    const { commands } = this.#connection;
    let sentAt = this.#clock.now();
    let reply: unknown;
    try {
      reply = await commands.evalsha(script.sha, script.keys.length, ...values);
    } catch (error) {
      if (!isNoScript(error)) throw error;
      sentAt = this.#clock.now();
      reply = await commands.eval(script.source, script.keys.length, ...values);
    }
    const all = reply as [number, ...Reply];
    this.#serverClock.observe(all[0] / 1000, sentAt);
    this.#observer?.(script.name, this.#clock.now() - sentAt);
    return all.slice(1);
  }
}

function allScripts(firstLine: string): Scripts {
  return Object.fromEntries(SCRIPT_NAMES.map((name) => [name, scriptOf(name, firstLine)])) as Scripts;
}
