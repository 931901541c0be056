import type { EmbeddedDriver } from '../../../lib/engines/embedded/embedded-driver.js';
import type { Driver, PlainCommands, Reply } from '../../../lib/store/driver.interface.js';
import type { Clocks } from './clocks.js';
import type { Request } from './lane.js';
import type { Link } from './link.js';
import type { Shard } from './shard.js';

/** Scripts that a full Redis refuses, since they always add to what is stored. */
const ADDING: ReadonlySet<string> = new Set(['publish', 'publish-occurrence', 'append-events', 'edit', 'report-work']);

/** Most places of a call to a single Redis. */
const MOST_PLACES = 16;

const COMMANDS = [
  'get',
  'hdel',
  'hget',
  'hgetall',
  'hmget',
  'hscan',
  'hset',
  'hsetnx',
  'xrevrange',
  'zmscore',
  'zrangebylex',
] as const;

type Command = (...args: readonly unknown[]) => Promise<unknown>;

/** Called when a script or a command is sent; what it returns is put around what the server does with it. */
export type WatchCall = (name: string, place: object, given: object) => (run: () => unknown) => unknown;

export interface LinkedCallsOptions {
  readonly link: Link;
  /** What the server does with what this build sends. */
  readonly calls: EmbeddedDriver;
  readonly clocks: Clocks;
  readonly watch: WatchCall;
}

/** Driver over a link, in the place of those over ioredis. */
export class LinkedCalls implements Driver {
  readonly address = 'redis';
  readonly mostPlaces: number;
  readonly #options: LinkedCallsOptions;
  readonly #commands: PlainCommands;

  constructor(options: LinkedCallsOptions) {
    this.#options = options;
    const { calls, watch, clocks } = options;
    // Places of a Cluster have a slot each.
    this.mostPlaces = clocks.shards.length > 1 ? 1 : MOST_PLACES;
    // Each is a call of its own.
    const command =
      (name: string): Command =>
      (...args) => {
        const run = (): unknown =>
          calls.call([], (redis) => (redis as unknown as Record<string, Command>)[name]?.(...args) as Promise<unknown>);
        const watched = watch(name, {}, args);
        const [key] = args as readonly (string | undefined)[];
        return this.#send({ name, key, about: () => args.join(' '), adds: false, run: () => watched(run) });
      };
    this.#commands = Object.fromEntries(COMMANDS.map((name) => [name, command(name)])) as unknown as PlainCommands;
  }

  readonly run: Driver['run'] = async (name, place, given, adds = ADDING.has(name)) => {
    const { calls, watch } = this.#options;
    // An older build cannot answer at once.
    const atOnce = 'runNow' in calls;
    const watched = watch(name, place, given);
    const run = (): unknown => watched(() => calls[atOnce ? 'runNow' : 'run'](name, place, given));
    const key = keyOf(place);
    return (await this.#send({ name, key, about: () => aboutOf(place, given), adds, run })) as Reply;
  };

  readonly runReplicated: Driver['runReplicated'] = async (name, place, given) => {
    return { reply: await this.run(name, place, given), confirmedBy: Infinity };
  };

  readonly runForEach: Driver['runForEach'] = async (name, places, given) => {
    const { calls } = this.#options;
    const run = (): unknown => calls.runForEach(name, places, given);
    const key = keyOf(places[0] ?? {});
    const about = (): string => `${places.length} places`;
    return (await this.#send({ name, key, about, adds: false, run })) as readonly Reply[];
  };

  readonly call: Driver['call'] = async (_keys, command) => command(this.#commands);

  async publish(channel: string, message: string): Promise<void> {
    const run = (): unknown => this.#options.calls.publish(channel, message);
    await this.#send({ name: 'publish', key: channel, about: () => message, adds: false, run });
  }

  /** Asks each shard for its time. */
  ask(): Promise<unknown>[] {
    const request = { name: 'ping', key: undefined, about: () => '', adds: false, run: () => 'PONG' };
    return this.#options.clocks.shards.map((shard) => this.#send(request, shard));
  }

  now(key: string): number {
    return this.#options.clocks.of(key).now();
  }

  toLocal(key: string, time: number): number {
    return this.#options.clocks.of(key).toLocal(time);
  }

  #send(request: Omit<Request, 'onTime'>, shard?: Shard): Promise<unknown> {
    const { link, clocks } = this.#options;
    const { key = '' } = request;
    const onTime = (serverTime: number, sentAt: number): void => clocks.of(key, shard).observe(serverTime, sentAt);
    return link.send({ ...request, onTime }, shard);
  }
}

/** One of the keys of a place, all of which are in one slot. */
function keyOf(place: object): string {
  return String(Object.values(place)[0]);
}

/** Which partition or topic a call is about, and with what. */
function aboutOf(place: object, given: object): string {
  const [, found = ''] = /\{dq:(.*?)\}/.exec(keyOf(place)) ?? [];
  return `${found} ${JSON.stringify(given)}`;
}
