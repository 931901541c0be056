import type { ReplicaRequirement } from '../../messages/replicas.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import type { Clock } from '../../time/clock.js';
import type { Driver, Given, PlainCommands, Reply } from '../../store/driver.interface.js';
import { isReply, replyFailure } from '../../store/redis-error-codes.js';
import type { ScriptName } from '../../store/lua/lua-script.js';
import { SCRIPTS } from '../../store/lua/script-sources.js';
import { fromBytes, toBytes } from './bytes.js';
import type { EmbeddedData } from './data/embedded-data.js';
import type { DataReply } from './data/keyspace.js';
import { EmbeddedScripts } from './embedded-scripts.js';
import type { EmbeddedServer } from './embedded-server.js';
import { TRANSLATED } from './translated-scripts.js';

type Names = Readonly<Record<string, string | number | readonly (string | number)[] | undefined>>;

const ADDRESS = 'embedded:';

/**
 * Runs calls on data in this process. Each takes effect at once; its answer comes a moment later, as one over a connection would, and in a later turn
 * of the event loop if this one has lasted for long.
 */
export class EmbeddedDriver implements Driver {
  readonly address = ADDRESS;
  readonly mostPlaces = 16;
  /** Number of replicas that confirm a publish. */
  replicas = Infinity;
  readonly #server: EmbeddedServer;
  readonly #clock: Clock;
  readonly #scripts: EmbeddedScripts;
  readonly #commands: PlainCommands;

  /** @param clock of the process, which waits */
  constructor(server: EmbeddedServer, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
    this.#scripts = new EmbeddedScripts(server.data, TRANSLATED);
    this.#commands = plainCommands(server.data);
  }

  async run<N extends ScriptName, P extends object>(name: N, place: P, given: Given<N, P>): Promise<Reply> {
    return this.#inTurn(() => this.runNow(name, place, given));
  }

  /** Takes effect at once; only the answer waits for replicas. */
  async runReplicated<N extends ScriptName, P extends object>(
    name: N,
    place: P,
    given: Given<N, P>,
    { min, timeout }: ReplicaRequirement,
  ): Promise<{ reply: Reply; confirmedBy: number }> {
    const reply = await this.run(name, place, given);
    if (this.replicas < min) await new Promise<void>((resolve) => this.#clock.setTimer(timeout, resolve));
    return { reply, confirmedBy: this.replicas };
  }

  async runForEach<N extends ScriptName, P extends object>(
    name: N,
    places: readonly P[],
    given: Given<N, P>,
  ): Promise<readonly Reply[]> {
    const replies: unknown = await this.#inTurn(() => this.#run(name, places as readonly Names[], given));
    return replies as readonly Reply[];
  }

  async call<T>(_keys: readonly string[], command: (redis: PlainCommands) => Promise<T>): Promise<T> {
    try {
      return await this.#inTurn(() => command(this.#commands));
    } catch (error) {
      throw toBrokerError(error);
    }
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#inTurn(() => this.#server.data.call('PUBLISH', toBytes(channel), toBytes(message)));
  }

  now(): number {
    return this.#server.clock.now();
  }

  toLocal(_key: string, time: number): number {
    return this.#server.clock.toLocal(time);
  }

  /** Runs a script, and answers at once. */
  runNow<N extends ScriptName, P extends object>(name: N, place: P, given: Given<N, P>): Reply {
    return this.#run(name, [place as Names], given);
  }

  /** The work itself is done at once. */
  async #inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      const pause = this.#server.turns?.pause();
      // Mostly nothing has to be waited for.
      if (pause) await pause;
    }
  }

  #run(name: ScriptName, places: readonly Names[], given: Names): Reply {
    const { keys, args, takesMore } = SCRIPTS[name];
    const [first = {}] = places;
    const KEYS = places.flatMap((place) => keys.map((key) => toBytes((place[key] ?? given[key]) as string)));
    const ARGV = args.map((arg) => {
      if (arg === 'wake_command') return 'PUBLISH';
      return toBytes((arg === 'channel' ? first[arg] : given[arg]) as string);
    });
    if (takesMore) for (const one of given['rest'] as readonly (string | number)[]) ARGV.push(toBytes(one));
    try {
      const [, ...reply] = decoded(this.#scripts.run(name, KEYS, ARGV)) as [number, ...Reply];
      return reply;
    } catch (error) {
      throw toBrokerError(error);
    }
  }
}

/** Passes on a refusal of a script as Redis would. All else is a fault of this library. */
function toBrokerError(error: unknown): BrokerUnavailableError {
  if (isReply(error)) return replyFailure(error, ADDRESS);
  return new BrokerUnavailableError(`Redis at ${ADDRESS} failed: ${String(error)}`, { cause: error, transient: true });
}

/** Decodes a reply as ioredis does. */
function decoded(reply: DataReply): unknown {
  if (typeof reply === 'string') return fromBytes(reply);
  if (reply === null || typeof reply !== 'object') return reply;
  return 'ok' in reply ? reply.ok : reply.map(decoded);
}

/** Returns the commands in the form that ioredis gives them. */
function plainCommands(data: EmbeddedData): PlainCommands {
  const command =
    (name: string) =>
    async (...args: (string | number | readonly (string | number)[])[]): Promise<unknown> =>
      decoded(data.call(name, ...args.flat().map(toBytes)));
  const names = ['get', 'hget', 'hmget', 'hscan', 'hset', 'hsetnx', 'xrevrange', 'zmscore', 'zrangebylex'];
  const all = Object.fromEntries(names.map((name) => [name, command(name.toUpperCase())]));
  const hgetall = async (key: string): Promise<Record<string, string>> => {
    const flat = (await command('HGETALL')(key)) as string[];
    return Object.fromEntries(flat.flatMap((field, i) => (i % 2 === 0 ? [[field, flat[i + 1] as string]] : [])));
  };
  return { ...all, hgetall } as unknown as PlainCommands;
}
