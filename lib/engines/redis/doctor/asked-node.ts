import type { Redis } from 'ioredis';
import { isError } from '../../../checks/kinds.js';
import type { Clock } from '../../../time/clock.js';
import { findTraits, ServerInfo, type ServerTraits } from '../connection/server-info.js';
import type { FoundPrefixes, InspectedNode, SetAside, SlowCall } from './inspected-server.js';
import { NotTold } from '../connection/redis-errors.js';
import { Questions } from './questions.js';

/** Entries of the log of slow calls that are looked at. */
const SLOW_CALLS = 128;

/** Duration above which a call of ours is too long, in microseconds. */
const LONG_CALL = 10_000;

/** Longest wait for replicas, in milliseconds: those in step confirm within a round trip, and other calls on the connection wait meanwhile. */
const LONGEST_WAIT = 20;

/** Keys in one step of a search for keys, and most steps that it takes. */
const KEYS_A_STEP = 1000;
const MAX_STEPS = 200;

/** Most keys that are named. */
const MAX_KEYS = 100;

/** Key of the list of topics, which each prefix has from its first topic on. */
const LIST_OF_TOPICS = /^\{([A-Za-z0-9._/-]+):fleet\}:topics$/;

export interface AskedNodeOptions {
  /** Client of the node; `undefined`: there is no connection to it. */
  readonly client: Redis | undefined;
  readonly address: string;
  readonly prefix: string;
  readonly clock: Clock;
  /** Longest time for an answer, in milliseconds. */
  readonly patience: number;
  /** Returns the name of the script with this hash, if it is one of ours. */
  readonly scriptOf: (sha: string) => string | undefined;
}

/** Asks a Redis server through a client that leads to it alone. All questions only read. */
export class AskedNode implements InspectedNode {
  readonly address: string;
  readonly #client: Redis | undefined;
  readonly #prefix: string;
  readonly #questions: Questions;
  readonly #scriptOf: AskedNodeOptions['scriptOf'];

  constructor({ client, address, prefix, clock, patience, scriptOf }: AskedNodeOptions) {
    this.address = address;
    this.#client = client;
    this.#prefix = prefix;
    this.#questions = new Questions(clock, patience);
    this.#scriptOf = scriptOf;
  }

  get #connected(): Redis {
    if (this.#client) return this.#client;
    throw new NotTold('there is no connection to it', { refused: false });
  }

  async roundTrip(): Promise<number> {
    return (await this.#time()).roundTrip;
  }

  async clockOffset(): Promise<number> {
    return (await this.#time()).offset;
  }

  async info(): Promise<ServerInfo> {
    return this.#questions.ask('INFO', async () => new ServerInfo(await this.#connected.info()));
  }

  async clusterInfo(): Promise<ServerInfo> {
    const command = 'CLUSTER INFO';
    return this.#questions.ask(command, async () => new ServerInfo(await this.#connected.cluster('INFO'), command));
  }

  async config(name: string): Promise<string> {
    const command = `CONFIG GET ${name}`;
    return this.#questions.ask(command, async () => {
      // The types of ioredis 5 leave the answer open.
      const [, value] = (await this.#connected.config('GET', name)) as readonly string[];
      if (value === undefined) throw new NotTold(`${command} answers nothing`, { refused: false });
      return value;
    });
  }

  async traits(): Promise<ServerTraits> {
    return this.#questions.ask('EVAL', () => findTraits(this.#connected));
  }

  async timeInScript(): Promise<void> {
    await this.#questions.ask('TIME within a script', () => this.#connected.eval(`return redis.call('TIME')`, 0));
  }

  async wait(replicas: number): Promise<number> {
    return this.#questions.ask('WAIT', () => this.#connected.wait(replicas, LONGEST_WAIT));
  }

  async slowCalls(): Promise<readonly SlowCall[]> {
    return this.#questions.ask('SLOWLOG GET', async () => {
      const entries = (await this.#connected.slowlog('GET', SLOW_CALLS)) as [number, number, number, string[]][];
      return entries
        .filter(([, , duration, [, , , key = '']]) => duration >= LONG_CALL && key.startsWith(`{${this.#prefix}:`))
        .map(([, at, duration, [, sha = '']]) => ({ script: this.#scriptOf(sha), duration: duration / 1000, at }));
    });
  }

  async setAside(): Promise<SetAside> {
    return this.#questions.ask('SCAN', () => this.#scan(`{${this.#prefix}:*:set-aside`));
  }

  async prefixes(): Promise<FoundPrefixes> {
    return this.#questions.ask('SCAN for prefixes', async () => {
      const isOwn = await this.#hasTopics();
      const others = isOwn ? [] : (await this.#scan('{*:fleet}:topics')).keys;
      return { isOwn, others: others.flatMap((key) => LIST_OF_TOPICS.exec(key)?.[1] ?? []) };
    });
  }

  /** `undefined`: another node of a Cluster knows. */
  async #hasTopics(): Promise<boolean | undefined> {
    try {
      return (await this.#connected.hlen(`{${this.#prefix}:fleet}:topics`)) > 0;
    } catch (error) {
      if (isError(error) && error.message.startsWith('MOVED ')) return undefined;
      throw error;
    }
  }

  get database(): number {
    return this.#client?.options.db ?? 0;
  }

  async #scan(pattern: string): Promise<SetAside> {
    const keys = new Set<string>();
    let cursor = '0';
    for (let step = 0; step < MAX_STEPS && keys.size < MAX_KEYS; step++) {
      const found = await this.#connected.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_A_STEP);
      cursor = found[0];
      for (const key of found[1]) keys.add(key);
      if (cursor === '0') break;
    }
    return { keys: [...keys], complete: cursor === '0' };
  }

  async #time(): Promise<{ readonly roundTrip: number; readonly offset: number }> {
    return this.#questions.ask('TIME', async () => {
      const sentAt = Date.now();
      const startedAt = performance.now();
      const [seconds, microseconds] = await this.#connected.time();
      const roundTrip = performance.now() - startedAt;
      const serverTime = Number(seconds) * 1000 + Number(microseconds) / 1000;
      return { roundTrip, offset: serverTime - (sentAt + roundTrip / 2) };
    });
  }
}
