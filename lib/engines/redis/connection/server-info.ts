import { NotTold } from './redis-errors.js';
import type { RedisClient } from './redis-clients.js';
import { isDenial, isReply } from '../../../store/redis-error-codes.js';

/** Features in which servers differ. They are found by trying, since several products report a Redis version whose features they lack. */
export interface ServerTraits {
  /** Whether scripts can begin with flags: then those that free memory run although the memory is full. */
  readonly scriptFlags: boolean;
  /** Whether it supports pub/sub that stays on a partition's cluster node. */
  readonly shardedPubSub: boolean;
}

/** Traits assumed of any server until more is known. */
export const FEWEST_TRAITS: ServerTraits = { scriptFlags: false, shardedPubSub: false };

/** Flags of a script that only reads. With these it runs in every server state in which ours run, and on a replica. */
const TRIAL_FLAGS = '#!lua flags=no-writes,allow-oom,allow-stale\n';

/** Without a channel, SPUBLISH does nothing and needs no rights: a server that knows it says what is missing. */
const TRIAL = `return redis.pcall('SPUBLISH').err`;

/**
 * Tries the features in which servers differ. Call this again after each reconnect, since an upgrade may have come in between.
 *
 * @throws the server's error if it runs no scripts at all, or that of the connection
 */
export async function findTraits(client: RedisClient): Promise<ServerTraits> {
  try {
    return { scriptFlags: true, shardedPubSub: isKnown(await client.eval(TRIAL_FLAGS + TRIAL, 0)) };
  } catch (error) {
    if (!isReply(error)) throw error;
    return { scriptFlags: false, shardedPubSub: isKnown(await client.eval(TRIAL, 0)) };
  }
}

/** Whether the server knows the command. One that is denied is known as well: the probe says which rights are missing. */
function isKnown(refusal: unknown): boolean {
  const text = String(refusal);
  return /wrong number of arg/i.test(text) || isDenial(text);
}

/** Oldest Redis that has all commands the scripts use. */
export const MIN_VERSION = [6, 2] as const;

/** A replica as its primary sees it. */
export interface ReplicaInfo {
  readonly address: string;
  /** `online` once it follows. */
  readonly state: string;
  /** Bytes of the replication stream that it has received. */
  readonly offset: number;
  /** Seconds since it was last heard of. */
  readonly lag: number;
}

/** Answer of INFO or CLUSTER INFO: fields with their values. */
export class ServerInfo {
  readonly #text: string;
  readonly #command: string;

  /** @param command that answered the text */
  constructor(text: string, command = 'INFO') {
    this.#text = text;
    this.#command = command;
  }

  /** Returns the value of a field; `undefined` if there is no such field. */
  find(name: string): string | undefined {
    return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(this.#text)?.[1];
  }

  /** @throws NotTold if there is no such field */
  text(name: string): string {
    const value = this.find(name);
    if (value === undefined) throw new NotTold(`${this.#command} does not tell '${name}'`, { refused: false });
    return value;
  }

  /** @throws NotTold if there is no such field, or it is not a number */
  number(name: string): number {
    const number = Number(this.text(name));
    if (Number.isNaN(number)) throw new NotTold(`${this.#command} tells no number as '${name}'`, { refused: false });
    return number;
  }

  /** Major and minor version of the Redis that the server is compatible with, as other products report it too; `[0, 0]`: none. */
  get version(): readonly [number, number] {
    const [, major, minor] = /^(\d+)\.(\d+)/.exec(this.find('redis_version') ?? '') ?? [];
    return [Number(major ?? 0), Number(minor ?? 0)];
  }

  get isTooOld(): boolean {
    const [major, minor] = this.version;
    return major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1]);
  }

  /** Product that the server says it is, such as `Redis 7.0.15` or `valkey 8.0.1 (compatible with Redis 7.2.4)`. */
  get product(): string {
    const redis = `Redis ${this.find('redis_version') ?? 'of an unknown version'}`;
    // Beside its own version a server reports that of its compiler.
    const [, name, version] = /^(?!redis_|gcc_)(\w+)_version:(.*?)\r?$/m.exec(this.#text) ?? [];
    return name === undefined ? redis : `${name} ${version} (compatible with ${redis})`;
  }

  /** The numbers of the databases that hold keys. */
  get databases(): number[] {
    return Array.from(this.#text.matchAll(/^db(\d+):keys=/gm), ([, number]) => Number(number));
  }

  get replicas(): ReplicaInfo[] {
    return [...this.#text.matchAll(/^slave\d+:(.*?)\r?$/gm)].map(([, line = '']) => {
      const fields = new Map(line.split(',').map((field) => field.split('=') as [string, string]));
      return {
        address: `${fields.get('ip')}:${fields.get('port')}`,
        state: fields.get('state') ?? 'unknown',
        offset: Number(fields.get('offset')),
        lag: Number(fields.get('lag')),
      };
    });
  }
}
