import type { EmbeddedCalls } from '../../../lib/broker/embedded/embedded-calls.js';
import type { Calls, PlainCommands, Reply } from '../../../lib/broker/redis/scripts/calls.interface.js';
import type { ServerClock } from '../../../lib/broker/server-clock.js';
import type { Link } from './link.js';

/** Scripts that a full Redis refuses, since they always add to what is stored. */
const ADDING: ReadonlySet<string> = new Set(['publish', 'publish-occurrence', 'append-events', 'edit', 'report-work']);

/** Most places of a call, as for a single Redis. */
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
  'time',
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
  readonly calls: EmbeddedCalls;
  readonly clock: ServerClock;
  readonly watch: WatchCall;
}

/** Calls over a link, in the place of those over ioredis. */
export class LinkedCalls implements Calls {
  readonly address = 'redis';
  readonly mostPlaces = MOST_PLACES;
  readonly #options: LinkedCallsOptions;
  readonly #commands: PlainCommands;

  constructor(options: LinkedCallsOptions) {
    this.#options = options;
    const { calls, watch } = options;
    // Each is a call of its own.
    const command =
      (name: string): Command =>
      (...args) => {
        const run = (): unknown =>
          calls.call([], (redis) => (redis as unknown as Record<string, Command>)[name]?.(...args) as Promise<unknown>);
        const watched = watch(name, {}, args);
        return this.#send(
          name,
          () => args.join(' '),
          false,
          () => watched(run),
        );
      };
    this.#commands = Object.fromEntries(COMMANDS.map((name) => [name, command(name)])) as unknown as PlainCommands;
  }

  readonly run: Calls['run'] = async (name, place, given, adds = ADDING.has(name)) => {
    const { calls, watch } = this.#options;
    // An older build cannot answer at once.
    const atOnce = 'runNow' in calls;
    const watched = watch(name, place, given);
    const run = (): unknown => watched(() => calls[atOnce ? 'runNow' : 'run'](name, place, given));
    return (await this.#send(name, () => aboutOf(place, given), adds, run)) as Reply;
  };

  readonly runReplicated: Calls['runReplicated'] = async (name, place, given) => {
    return { reply: await this.run(name, place, given), confirmedBy: Infinity };
  };

  readonly runForEach: Calls['runForEach'] = async (name, places, given) => {
    const { calls } = this.#options;
    const run = (): unknown => calls.runForEach(name, places, given);
    return (await this.#send(name, () => `${places.length} places`, false, run)) as readonly Reply[];
  };

  readonly call: Calls['call'] = async (_keys, command) => command(this.#commands);

  async publish(channel: string, message: string): Promise<void> {
    await this.#send(
      'publish',
      () => message,
      false,
      () => this.#options.calls.publish(channel, message),
    );
  }

  async ping(): Promise<void> {
    await this.#send(
      'ping',
      () => '',
      false,
      () => 'PONG',
    );
  }

  now(): number {
    return this.#options.clock.now();
  }

  toLocal(_key: string, time: number): number {
    return this.#options.clock.toLocal(time);
  }

  #send(name: string, about: () => string, adds: boolean, run: () => unknown): Promise<unknown> {
    const { link, clock } = this.#options;
    return link.send({ name, about, adds, run, onTime: (serverTime, sentAt) => clock.observe(serverTime, sentAt) });
  }
}

/** Which partition or topic a call is about, and with what. */
function aboutOf(place: object, given: object): string {
  const [, found = ''] = /\{dq:(.*?)\}/.exec(String(Object.values(place)[0])) ?? [];
  return `${found} ${JSON.stringify(given)}`;
}
