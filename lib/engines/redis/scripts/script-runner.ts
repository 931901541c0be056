import type { Clock } from '../../../time/clock.js';
import { BrokerUnavailableError } from '../../../errors/operation.errors.js';
import type { IoRedis, RedisClient } from '../connection/redis-clients.js';
import type { RedisConnection } from '../connection/redis-connection.js';
import type { Log } from '../../../log.js';
import { isNoScript } from '../connection/redis-errors.js';
import { isWrongType } from '../../../store/redis-error-codes.js';
import { asideOf, typeOfKey } from '../../../store/keys.js';
import type { Given, Reply } from '../../../store/driver.interface.js';
import type { Argument, ScriptName } from '../../../store/lua/lua-script.js';
import { SCRIPTS } from '../../../store/lua/script-sources.js';
import { type ScriptClient, scriptClientOf } from './script-client.js';
import { commandOfRefusal, commandsOfScript } from './rights.js';
import { type Script, SCRIPT_NAMES, scriptOf } from './scripts.js';

type Scripts = Readonly<Record<ScriptName, Script>>;

/**
 * Lets a script write although Redis has reached its maxmemory: scripts that add nothing lasting have to, since handling messages
 * frees memory. Redis 6.2 knows no script flags, but it refuses only the first write of a script, and none that cannot take
 * memory: such a write, to a key that does not exist, lets all others through.
 */
const EVEN_IF_FULL = { flag: '#!lua flags=allow-oom\n', redis6: "redis.call('DEL', KEYS[1] .. ':none')\n" } as const;

type Names = Readonly<Record<string, Argument | readonly Argument[] | undefined>>;

/** Called with each script that was answered, and its round trip in milliseconds. */
export type ScriptObserver = (name: ScriptName, duration: number) => void;

export interface ScriptRunnerOptions {
  readonly ioredis: IoRedis;
  readonly connection: RedisConnection;
  readonly clock: Clock;
  readonly log: Log;
  readonly onScript: ScriptObserver | undefined;
}

export interface ScriptRunOptions {
  readonly client?: ScriptClient | undefined;
  readonly adds?: boolean | undefined;
}

/** Runs scripts by their hash; a server that does not have one (restarted, or flushed) gets the source. */
export class ScriptRunner {
  readonly #connection: RedisConnection;
  readonly #client: ScriptClient;
  readonly #clock: Clock;
  readonly #adding: Scripts;
  readonly #evenIfFull: Readonly<Record<keyof typeof EVEN_IF_FULL, Scripts>>;
  readonly #names = new Map<string, ScriptName>();
  /** Errors of the commands that Redis refuses, by their names. */
  #refused: ReadonlyMap<string, string> = new Map();
  readonly #log: Log;
  readonly #observer: ScriptObserver | undefined;

  constructor({ ioredis, connection, clock, log, onScript }: ScriptRunnerOptions) {
    this.#connection = connection;
    this.#client = scriptClientOf(ioredis, connection.commands);
    this.#clock = clock;
    this.#log = log;
    this.#observer = onScript;
    this.#adding = allScripts('');
    this.#evenIfFull = { flag: allScripts(EVEN_IF_FULL.flag), redis6: allScripts(EVEN_IF_FULL.redis6) };
    for (const scripts of [this.#adding, this.#evenIfFull.flag, this.#evenIfFull.redis6]) {
      for (const { sha, name } of Object.values(scripts)) this.#names.set(sha, name);
    }
  }

  /** Returns the script with this hash; `undefined` if it is none of this version. */
  nameOf(sha: string): ScriptName | undefined {
    return this.#names.get(sha);
  }

  /**
   * Notes the commands that were refused when all were tried: a script that calls one of them is not sent any more, since it
   * would stop half-way.
   */
  refuse(refused: readonly string[]): void {
    this.#refused = new Map(refused.map((text) => [commandOfRefusal(text), text]));
  }

  /**
   * Runs a script; its head says in which order it takes its keys and arguments. Every reply begins with the server's time in
   * microseconds; it is noted and cut off.
   *
   * @param place the keys and the channel of what the call is about
   * @param given what else the script takes, by name
   * @param options.client through which it is sent
   * @param options.adds whether this call adds to what is stored, so that a full Redis has to refuse it
   * @throws BrokerUnavailableError
   */
  run<N extends ScriptName, P extends object>(
    name: N,
    place: P,
    given: Given<N, P>,
    options: ScriptRunOptions = {},
  ): Promise<Reply> {
    return this.#runAt(name, [place as Names], given, options);
  }

  /**
   * Runs a script that only looks, for several places that one node holds.
   *
   * @param given the same for all
   * @returns a reply for each
   * @throws BrokerUnavailableError
   */
  async runForEach<N extends ScriptName, P extends object>(
    name: N,
    places: readonly P[],
    given: Given<N, P>,
  ): Promise<readonly Reply[]> {
    const replies: readonly unknown[] = await this.#runAt(name, places as readonly Names[], given, {});
    return replies as readonly Reply[];
  }

  async #runAt(
    name: ScriptName,
    places: readonly Names[],
    given: Names,
    { client = this.#client, adds = SCRIPTS[name].flags.includes('adds') }: ScriptRunOptions,
  ): Promise<Reply> {
    // The server's traits, and how a script can write to a full one, are known once connected.
    if (!this.#connection.isUp('commands')) await this.#connection.ready();
    if (this.#refused.size > 0) this.#assertAllowed(name);
    const [first = ''] = this.#adding[name].keys;
    const key = (places[0]?.[first] ?? given[first]) as string;
    const { flag, redis6 } = this.#evenIfFull;
    const script = (adds ? this.#adding : this.#connection.nodes.of(key).traits.scriptFlags ? flag : redis6)[name];
    const call = this.#callOf(script, key, places, given);
    try {
      return await this.#send(client, script, key, call);
    } catch (error) {
      if (SCRIPTS[name].flags.includes('reads')) throw this.#connection.toError(error, key);
      const keys = call.slice(2, 2 + script.keys.length * places.length) as string[];
      return this.#mend(keys, error, () => this.#send(client, script, key, call));
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
      return await this.#connection.send(command, keys[0]);
    } catch (error) {
      return this.#mend(keys, error, () => this.#connection.send(command, keys[0]));
    }
  }

  /**
   * Repeats a call that has met a key of another type than ours, put there by another program, once that key is set aside:
   * nothing of that partition could go on otherwise.
   *
   * @param error of the call, which has written nothing
   */
  async #mend<T>(keys: readonly string[], error: unknown, call: () => Promise<T>): Promise<T> {
    const failure = this.#connection.toError(error, keys[0]);
    if (!isWrongType(failure.message) || !(await this.#setAside(keys, failure))) throw failure;
    try {
      return await call();
    } catch (secondError) {
      throw this.#connection.toError(secondError, keys[0]);
    }
  }

  /** Sets keys of other types aside, and returns whether there was any. */
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

  /** @throws BrokerUnavailableError */
  #assertAllowed(name: ScriptName): void {
    // Its job is to try them.
    if (name === 'probe') return;
    const refused = commandsOfScript(name).flatMap((command) => this.#refused.get(command) ?? []);
    if (refused.length === 0) return;
    throw new BrokerUnavailableError(
      `The user of Redis at ${this.#connection.address} may not do this. 'npx nestjs-delay-queue acl' prints what it needs; restart this ` +
        `process then. Refused: ${refused.join('; ')}`,
      { transient: false, refused: true },
    );
  }

  /**
   * Returns the hash, the number of keys, and the keys and arguments in the order of the script's head.
   *
   * @param key one that the call is about
   */
  #callOf({ sha, keys, args, takesMore }: Script, key: string, places: readonly Names[], given: Names): Argument[] {
    const values: Argument[] = [sha, keys.length * places.length];
    for (const place of places) for (const name of keys) values.push((place[name] ?? given[name]) as string);
    const [place = {}] = places;
    for (const name of args) {
      if (name === 'wake_command') values.push(this.#connection.isSharded(key) ? 'SPUBLISH' : 'PUBLISH');
      else values.push((name === 'channel' ? place[name] : given[name]) as Argument);
    }
    if (takesMore) for (const more of given['rest'] as readonly Argument[]) values.push(more);
    return values;
  }

  async #send(client: ScriptClient, script: Script, key: string, call: Argument[]): Promise<Reply> {
    this.#connection.nodes.assertReachable(key);
    let sentAt = this.#clock.now();
    let reply: unknown;
    try {
      reply = await client.send('evalsha', call);
    } catch (error) {
      if (!isNoScript(error)) throw error;
      sentAt = this.#clock.now();
      reply = await client.send('eval', [script.source, ...call.slice(1)]);
    }
    const all = reply as [number, ...Reply];
    // Looked up after the call, which may have shown that another node holds the key.
    this.#connection.nodes.of(key).clock.observe(all[0] / 1000, sentAt);
    this.#observer?.(script.name, this.#clock.now() - sentAt);
    return all.slice(1);
  }
}

function allScripts(firstLine: string): Scripts {
  return Object.fromEntries(SCRIPT_NAMES.map((name) => [name, scriptOf(name, firstLine)])) as Scripts;
}
