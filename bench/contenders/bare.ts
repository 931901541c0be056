import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { BARE_BATCH, type Contender, type Handle, type Message, endProcess, now } from './contender.js';
import type { Payload } from './payload.js';

const EPOCH = '9f3ac07be41d2258';
const OWNER = `${EPOCH} bench`;
const HOUR = 3_600_000;

/** The parts of `internals.ts` that are used here. */
interface Internals {
  readonly CLAIM_HEAD: number;
  readonly scriptOf: (name: string) => { readonly source: string } & LoadedScript;
  readonly toStoredId: (id: string) => string;
  readonly StoreKeys: new (prefix: string) => {
    partition(partition: { topic: string; index: number }): object;
    answered(partition: { topic: string; index: number }, caller: string): string;
  };
}

// In a variable, so that the compiler does not compile the library too.
const INTERNALS = '../internals.js';
const { CLAIM_HEAD, StoreKeys, scriptOf, toStoredId } = (await import(INTERNALS)) as Internals;

const SCRIPTS = ['publish', 'claim', 'settle', 'acquire'] as const;

type ScriptName = (typeof SCRIPTS)[number];
type Argument = string | number;

/** A script that is loaded in Redis. */
interface LoadedScript {
  readonly sha: string;
  /** In the order in which the script takes them. */
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

type LoadedScripts = Readonly<Record<ScriptName, LoadedScript>>;

/** The scripts of one partition, called one after another. */
class BarePartition {
  readonly #redis: Redis;
  readonly #scripts: LoadedScripts;
  /** Keys and channel by their names. */
  readonly #names: ReadonlyMap<string, string>;
  #sequence = 0;
  #claims = 0;
  #delivered = 0;

  constructor(redis: Redis, scripts: LoadedScripts, topic: string, index: number) {
    this.#redis = redis;
    this.#scripts = scripts;
    const keys = new StoreKeys('dq');
    const answered = keys.answered({ topic, index }, randomUUID());
    this.#names = new Map(Object.entries({ ...keys.partition({ topic, index }), answered }));
  }

  async publish(messages: readonly Message[]): Promise<void> {
    const publishedAt = Math.round(now());
    const dueTimes = new Set(messages.map(encodeDue));
    const [first = ''] = dueTimes;
    const dues = dueTimes.size === 1 ? first : messages.map(encodeDue).join(',');
    const rest = messages.flatMap(({ payload }) => [
      toStoredId(randomUUID()),
      `[${publishedAt},${JSON.stringify(payload)}]`,
    ]);
    await this.#run('publish', { sequence: ++this.#sequence, columns: `${dues}\nn\n0\n\n` }, rest);
  }

  async acquire(): Promise<void> {
    // The first owner: it replaces nothing.
    await this.#run('acquire', { new_owner: OWNER, is_first: 1 });
  }

  /** Ids, tokens and payloads of up to {@link BARE_BATCH} messages. */
  async claim(): Promise<{ id: string; token: string; payload: Payload }[]> {
    const noSuspects = { room: 0, whole_room: 0 };
    const reply = await this.#run('claim', {
      claimant: OWNER,
      sequence: ++this.#claims,
      delivered: this.#delivered,
      max: BARE_BATCH,
      lease: HOUR,
      ...noSuspects,
    });
    // All are first deliveries, whose numbers are in a row.
    let number = this.#delivered;
    this.#delivered = reply[2] as number;
    const messages = [];
    // The time comes before the head.
    for (let i = 1 + CLAIM_HEAD; i < reply.length; i += 2) {
      const [, body] = JSON.parse(reply[i + 1] as string) as [number, Payload];
      messages.push({ id: reply[i] as string, token: `${EPOCH}.${++number}`, payload: body });
    }
    return messages;
  }

  async acknowledge(messages: readonly { id: string; token: string }[]): Promise<void> {
    const tokens = messages.map(({ token }) => `${token} `).join('');
    const ids = messages.map(({ id }) => id);
    await this.#run('settle', { sequence: ++this.#sequence, outcomes: 'a', tokens }, ids);
  }

  /**
   * @param given by name; what is not given is empty, which asks for nothing
   * @param rest further arguments
   */
  async #run(
    name: ScriptName,
    given: Readonly<Record<string, Argument>>,
    rest: readonly Argument[] = [],
  ): Promise<readonly Argument[]> {
    const { sha, keys, args } = this.#scripts[name];
    const known: Readonly<Record<string, Argument>> = {
      // As the library signals without a cluster; Redis 6.2 has no other command.
      wake_command: 'PUBLISH',
      channel: this.#name('channel'),
      ...given,
    };
    const values = [...keys.map((key) => this.#name(key)), ...args.map((arg) => known[arg] ?? ''), ...rest];
    return (await this.#redis.evalsha(sha, keys.length, ...values)) as readonly Argument[];
  }

  #name(key: string): string {
    const name = this.#names.get(key);
    if (name === undefined) throw new Error(`The library has no key '${key}'.`);
    return name;
  }
}

function encodeDue({ due }: Message): string {
  if (due === undefined) return '+0';
  return 'after' in due ? `+${due.after}` : String(due.at);
}

/**
 * The library's scripts without the library: only whole batches, for all partitions at the same time. No queue built on these
 * scripts can be faster, so this shows what the library adds.
 */
export const bareScripts: Contender = {
  async publisher({ redisUrl, topic, partitions }) {
    const { redis, open } = await connect(redisUrl);
    const all = open(topic, partitions);
    let next = 0;
    const publishMany = async (messages: readonly Message[]): Promise<void> => {
      const calls: Promise<void>[] = [];
      for (let first = 0; first < messages.length; first += BARE_BATCH) {
        const partition = all[next++ % all.length] as BarePartition;
        calls.push(partition.publish(messages.slice(first, first + BARE_BATCH)));
      }
      await Promise.all(calls);
    };
    return {
      publish: (message) => publishMany([message]),
      publishMany,
      close: async () => redis.disconnect(),
    };
  },

  async consumer({ redisUrl, topics, partitions }, handle) {
    const { redis, open } = await connect(redisUrl);
    const all = topics.flatMap((topic) => open(topic, partitions));
    const stop = new AbortController();
    const startedAt = now();
    await Promise.all(all.map((partition) => partition.acquire()));
    const loops = all.map((partition) => consume(partition, handle, stop.signal).catch(endProcess));
    return {
      startedAt,
      close: async () => {
        stop.abort();
        await Promise.all(loops);
        redis.disconnect();
      },
    };
  },
};

/** Sends the settle of a batch together with the claim of the next one. */
async function consume(partition: BarePartition, handle: Handle, stop: AbortSignal): Promise<void> {
  let messages = await partition.claim();
  while (!stop.aborted) {
    if (messages.length === 0) {
      await sleep(1);
      messages = await partition.claim();
      continue;
    }
    await Promise.all(messages.map(({ payload }) => handle(payload)));
    [messages] = await Promise.all([partition.claim(), partition.acknowledge(messages)]);
  }
}

interface BareConnection {
  readonly redis: Redis;
  readonly open: (topic: string, partitions: number) => BarePartition[];
}

async function connect(redisUrl: string): Promise<BareConnection> {
  const redis = new Redis(redisUrl, { replyMapping: 'legacy' });
  redis.on('error', endProcess);
  const scripts = Object.fromEntries(
    await Promise.all(SCRIPTS.map(async (name) => [name, await loadInto(redis, name)] as const)),
  ) as LoadedScripts;
  const open = (topic: string, partitions: number): BarePartition[] =>
    Array.from({ length: partitions }, (_, index) => new BarePartition(redis, scripts, topic, index));
  return { redis, open };
}

async function loadInto(redis: Redis, name: ScriptName): Promise<LoadedScript> {
  const { source, sha, keys, args } = scriptOf(name);
  await redis.script('LOAD', source);
  return { sha, keys, args };
}
