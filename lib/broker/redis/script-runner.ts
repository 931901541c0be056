import type { Clock } from '../../common/clock.js';
import type { ServerClock } from '../server-clock.js';
import type { RedisConnection } from './redis-connection.js';
import { isNoScript } from './redis-errors.js';
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

/** Runs scripts by their hash; a server that does not have one (restarted, or flushed) is sent the source. */
export class ScriptRunner {
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  readonly #serverClock: ServerClock;
  readonly #plain: Scripts;
  readonly #flagged: Scripts;
  readonly #observer: ScriptObserver | undefined;

  constructor(connection: RedisConnection, clock: Clock, serverClock: ServerClock, observer?: ScriptObserver) {
    this.#connection = connection;
    this.#clock = clock;
    this.#serverClock = serverClock;
    this.#observer = observer;
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
