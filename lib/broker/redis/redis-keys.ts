import type { Partition } from '../broker.interface.js';

/** The keys and the channel of one partition. All share the hash tag `{prefix:topic:partition}`, so one cluster slot. */
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

/** The keys and the channel of one topic, with the hash tag `{prefix:topic}`. */
export interface TopicKeys {
  /** HASH: partitions, protocol */
  readonly config: string;
  /** ZSET: member → end of its session */
  readonly members: string;
  /** HASH: member → partitions it says it holds */
  readonly holdings: string;
  /** Channel: members came, went, or changed what they hold */
  readonly channel: string;
}

/** The type of each key of a partition or of a group. */
const TYPES: Readonly<Record<string, 'ZSET' | 'HASH' | 'STRING'>> = {
  scheduled: 'ZSET',
  inflight: 'ZSET',
  messages: 'HASH',
  deliveries: 'HASH',
  dead: 'ZSET',
  errors: 'HASH',
  keyed: 'ZSET',
  owner: 'STRING',
  meta: 'HASH',
  answered: 'STRING',
  members: 'ZSET',
  holdings: 'HASH',
};

/**
 * The type that a key has to have; `undefined` for the keys that all of a topic depends on, which nobody but an operator may
 * replace.
 */
export function typeOfKey(key: string): 'ZSET' | 'HASH' | 'STRING' | undefined {
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

  /** A key, and a channel, that are used only to find out what the user may do. */
  get probe(): string {
    return `{${this.#prefix}:probe}`;
  }

  /** STREAM: what the processes of the fleet tell about their work */
  get events(): string {
    return `{${this.#prefix}:events}`;
  }

  /** ZSET, all scores 0: the topics that were ever used */
  get topics(): string {
    return `{${this.#prefix}:topics}`;
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

  topic(topic: string): TopicKeys {
    const tag = `{${this.#prefix}:${topic}}`;
    return {
      config: `${tag}:config`,
      members: `${tag}:members`,
      holdings: `${tag}:holdings`,
      channel: `${tag}:changes`,
    };
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
