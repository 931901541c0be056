import type { Clock } from '../../common/clock.js';
import type { ServerClock } from '../server-clock.js';
import type { RedisConnection } from './redis-connection.js';
import { isNoScript } from './redis-errors.js';
import { type Script, loadScript } from './script-loader.js';

const SCRIPTS = [
  'publish',
  'cancel',
  'claim',
  'settle',
  'extend',
  'get',
  'stats',
  'trim-dead',
  'configure',
  'join',
  'leave',
  'acquire',
  'release',
] as const;

export type ScriptName = (typeof SCRIPTS)[number];

/** A reply without its leading time stamp. */
export type Reply = readonly (string | number)[];

/** Runs scripts by their hash; a server that does not have one (restarted, or flushed) is sent the source. */
export class ScriptRunner {
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  readonly #serverClock: ServerClock;
  readonly #scripts: Readonly<Record<ScriptName, Script>>;

  constructor(connection: RedisConnection, clock: Clock, serverClock: ServerClock) {
    this.#connection = connection;
    this.#clock = clock;
    this.#serverClock = serverClock;
    this.#scripts = Object.fromEntries(SCRIPTS.map((name) => [name, loadScript(name)])) as Record<ScriptName, Script>;
  }

  /**
   * Every script's reply begins with the server's time in microseconds; it is noted and cut off.
   *
   * @throws BrokerUnavailableError
   */
  async run(name: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<Reply> {
    const script = this.#scripts[name];
    const { commands } = this.#connection;
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
    const [time, ...rest] = reply as [number, ...Reply];
    this.#serverClock.observe(time / 1000, sentAt);
    return rest;
  }
}
