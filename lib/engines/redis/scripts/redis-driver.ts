import type { ReplicaRequirement } from '../../../messages/replicas.js';
import type { Driver, Given, PlainCommands, Reply } from '../../../store/driver.interface.js';
import type { RedisConnection } from '../connection/redis-connection.js';
import type { ReplicatedCalls } from './replicated-calls.js';
import type { ScriptRunner } from './script-runner.js';
import type { ScriptName } from '../../../store/lua/lua-script.js';

/** Most places of one call: Redis counts the contents of that many partitions in half a millisecond. */
const MOST_PLACES = 16;

export interface RedisCallsOptions {
  readonly connection: RedisConnection;
  readonly scripts: ScriptRunner;
  readonly replicated: ReplicatedCalls;
}

/** Makes calls to Redis. */
export class RedisDriver implements Driver {
  readonly #connection: RedisConnection;
  readonly #scripts: ScriptRunner;
  readonly #replicated: ReplicatedCalls;

  constructor({ connection, scripts, replicated }: RedisCallsOptions) {
    this.#connection = connection;
    this.#scripts = scripts;
    this.#replicated = replicated;
  }

  get address(): string {
    return this.#connection.address;
  }

  /** Places of a Cluster have a slot each. */
  get mostPlaces(): number {
    return this.#connection.commands.isCluster ? 1 : MOST_PLACES;
  }

  run<N extends ScriptName, P extends object>(name: N, place: P, given: Given<N, P>, adds?: boolean): Promise<Reply> {
    return this.#scripts.run(name, place, given, { adds });
  }

  async runReplicated<N extends ScriptName, P extends object>(
    name: N,
    place: P,
    given: Given<N, P>,
    replicas: ReplicaRequirement,
  ): Promise<{ reply: Reply; confirmedBy: number }> {
    const client = this.#replicated.newCall(replicas);
    const reply = await this.#scripts.run(name, place, given, { client });
    return { reply, confirmedBy: client.confirmedBy };
  }

  runForEach<N extends ScriptName, P extends object>(
    name: N,
    places: readonly P[],
    given: Given<N, P>,
  ): Promise<readonly Reply[]> {
    return this.#scripts.runForEach(name, places, given);
  }

  call<T>(keys: readonly string[], command: (redis: PlainCommands) => Promise<T>): Promise<T> {
    return this.#scripts.call(keys, command);
  }

  async publish(channel: string, message: string): Promise<void> {
    if (this.#connection.isSharded(channel))
      await this.#connection.send((redis) => redis.spublish(channel, message), channel);
    else await this.#connection.send((redis) => redis.publish(channel, message));
  }

  now(key: string): number {
    return this.#connection.nodes.now(key);
  }

  toLocal(key: string, time: number): number {
    return this.#connection.nodes.toLocal(key, time);
  }
}
