import type { Clock } from '../../time/clock.js';
import { BrokerUnavailableError } from '../../errors/broker-unavailable.error.js';
import type { ServerClock } from '../server-clock.js';
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
export type Given<N extends ScriptName, P> = Omit<ScriptParameters[N], keyof P | 'wake_command'>;

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
    const values = this.#valuesOf(this.#plain[name], place as Names, given as Names);
    return this.mending(values.slice(0, this.#plain[name].keys.length) as string[], () => this.#run(name, values));
  }

  /**
   * Makes a call. If it meets a key that holds another type than ours, which some other program has put there, that key is set
   * aside and the call is made again: nothing of that partition could go on otherwise.
   *
   * @param call has written nothing if it fails
   * @throws BrokerUnavailableError
   */
  async mending<T>(keys: readonly string[], call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      const failure = this.#connection.toError(error);
      if (!isWrongType(failure.message) || !(await this.#setAside(keys, failure))) throw failure;
    }
    try {
      return await call();
    } catch (error) {
      throw this.#connection.toError(error);
    }
  }

  /** Answers whether there was any. */
  async #setAside(keys: readonly string[], failure: Error): Promise<boolean> {
    const set: string[] = [];
    for (const key of keys) {
      const type = typeOfKey(key);
      if (type === undefined) continue;
      const [isSet] = await this.#run('set-keys-aside', [key, asideOf(key), type]);
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

  #valuesOf({ keys, args, takesMore }: Script, place: Names, given: Names): Argument[] {
    const values: Argument[] = [];
    for (const name of keys) values.push((place[name] ?? given[name]) as string);
    for (const name of args) {
      values.push(
        (name === 'wake_command' ? this.#connection.publishCommand : (place[name] ?? given[name])) as Argument,
      );
    }
    if (takesMore) for (const value of given['rest'] as readonly Argument[]) values.push(value);
    return values;
  }

  /** @param values keys and arguments */
  async #run(name: ScriptName, values: readonly Argument[]): Promise<Reply> {
    const { commands, isRedis7 } = this.#connection;
    const script = (isRedis7 ? this.#flagged : this.#plain)[name];
    let sentAt = this.#clock.now();
    let reply: unknown;
    try {
      reply = await commands.evalsha(script.sha, script.keys.length, ...values);
    } catch (error) {
      if (!isNoScript(error)) throw this.#connection.toError(error);
      sentAt = this.#clock.now();
      try {
        reply = await commands.eval(script.source, script.keys.length, ...values);
      } catch (evalError) {
        throw this.#connection.toError(evalError);
      }
    }
    const all = reply as [number, ...Reply];
    this.#serverClock.observe(all[0] / 1000, sentAt);
    this.#observer?.(name, this.#clock.now() - sentAt);
    return all.slice(1);
  }
}

function allScripts(firstLine: string): Scripts {
  return Object.fromEntries(SCRIPT_NAMES.map((name) => [name, scriptOf(name, firstLine)])) as Scripts;
}
