import type { Partition } from '../broker.interface.js';

/** The keys and channels of one partition. All share the hash tag `{prefix:topic:partition}`, so one cluster slot. */
export interface PartitionKeys {
  /** ZSET: stored id → due time */
  readonly scheduled: string;
  /** ZSET: stored id → end of its lease */
  readonly inflight: string;
  /** HASH: stored id → envelope */
  readonly messages: string;
  /** HASH: stored id → delivery record, only once delivered */
  readonly deliveries: string;
  /** ZSET: stored id → time of death */
  readonly dead: string;
  /** HASH: stored id → last failure */
  readonly errors: string;
  /** ZSET, all scores 0: the stored ids that have a key of their own */
  readonly keyed: string;
  /** STRING with PX: the owner's member id */
  readonly owner: string;
  /** HASH: paused, counters */
  readonly meta: string;
  /** Channel: signals to the owner */
  readonly channel: string;
}

/** What each key of a partition or of a group holds, as a letter that set-keys-aside.lua reads. */
const TYPES: Readonly<Record<string, 'z' | 'h' | 's'>> = {
  scheduled: 'z',
  inflight: 'z',
  messages: 'h',
  deliveries: 'h',
  dead: 'z',
  errors: 'h',
  keyed: 'z',
  owner: 's',
  meta: 'h',
  answered: 's',
  members: 'z',
  holdings: 'h',
};

/**
 * The type that a key has to have, as set-keys-aside.lua reads it; `undefined` for those that all of a topic hangs on, which
 * nobody but an operator may replace.
 */
export function typeOfKey(key: string): string | undefined {
  const [, suffix = ''] = /\}:([a-z]+)(?::[^}]*)?$/.exec(key) ?? [];
  return TYPES[suffix];
}

/** Where a key of another type is kept. */
export function asideOf(key: string): string {
  return `${key}:set-aside`;
}

export class RedisKeys {
  readonly #prefix: string;
  readonly #partitions = new Map<string, PartitionKeys[]>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  partition({ topic, index }: Partition): PartitionKeys {
    let known = this.#partitions.get(topic);
    if (!known) this.#partitions.set(topic, (known = []));
    return (known[index] ??= partitionKeys(`{${this.#prefix}:${topic}:${index}}`));
  }

  /** STRING with PX: the latest call of a caller, and its answer. */
  answered({ topic, index }: Partition, caller: string): string {
    return `{${this.#prefix}:${topic}:${index}}:answered:${caller}`;
  }

  /** A key, and a channel, that are used only to find out what the user may do. */
  probe(): string {
    return `{${this.#prefix}:probe}`;
  }

  /** STREAM: what the processes of the fleet tell of their work */
  events(): string {
    return `{${this.#prefix}:events}`;
  }

  /** ZSET, all scores 0: the topics that were ever used */
  topics(): string {
    return `{${this.#prefix}:topics}`;
  }

  /** ZSET: member → end of its session */
  members(topic: string): string {
    return `{${this.#prefix}:${topic}}:members`;
  }

  /** HASH: member → partitions it says it holds */
  holdings(topic: string): string {
    return `{${this.#prefix}:${topic}}:holdings`;
  }

  /** Channel: members came, went, or changed what they hold */
  membersChannel(topic: string): string {
    return `{${this.#prefix}:${topic}}:changes`;
  }

  /** HASH: partitions, protocol */
  config(topic: string): string {
    return `{${this.#prefix}:${topic}}:config`;
  }
}

function partitionKeys(tag: string): PartitionKeys {
  return {
    scheduled: `${tag}:scheduled`,
    inflight: `${tag}:inflight`,
    messages: `${tag}:messages`,
    deliveries: `${tag}:deliveries`,
    dead: `${tag}:dead`,
    errors: `${tag}:errors`,
    keyed: `${tag}:keyed`,
    owner: `${tag}:owner`,
    meta: `${tag}:meta`,
    channel: `${tag}:signals`,
  };
}
