import type { Clock } from '../../time/clock.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import type { ServerClock } from '../server-clock.js';
import type { RedisConnection } from './redis-connection.js';
import type { Log } from '../../log.js';
import { isNoScript, isWrongType } from './redis-errors.js';
import { asideOf, typeOfKey } from './redis-keys.js';
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
   * Every script's reply begins with the server's time in microseconds; it is noted and cut off.
   *
   * @throws BrokerUnavailableError
   */
  async run(name: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<Reply> {
    return this.mending(keys, () => this.#run(name, keys, args));
  }

  /**
   * Makes a call. Where it meets a key that holds another type than ours, which some other program has put there, that key
   * is set aside and the call is made again: nothing of that partition could go on otherwise.
   *
   * @param call one that has written nothing where it fails
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
    const ours = keys.filter((key) => typeOfKey(key) !== undefined);
    if (ours.length === 0) return false;
    const names = ours.flatMap((key) => [key, asideOf(key)]);
    const aside = await this.#run(
      'set-keys-aside',
      names,
      ours.map((key) => typeOfKey(key) as string),
    );
    if (aside.length === 0) return false;
    const text =
      `Another program has written over keys of this module in Redis at ${this.#connection.address}; what they held is ` +
      `lost, and what it wrote was set aside as ${aside.join(', ')}`;
    this.#log.error(text);
    this.#connection.tellError(new BrokerUnavailableError(text, { cause: failure, transient: false, refused: true }));
    return true;
  }

  async #run(name: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<Reply> {
    if (!this.#connection.isOpen) await this.#connection.ready();
    const { commands, isRedis7 } = this.#connection;
    const script = (isRedis7 ? this.#flagged : this.#plain)[name];
    let sentAt = this.#clock.now();
    let reply: unknown;
    try {
      reply = await commands.evalsha(script.sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isNoScript(error)) throw this.#connection.toError(error);
      sentAt = this.#clock.now();
      try {
        reply = await commands.eval(script.source, keys.length, ...keys, ...args);
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
