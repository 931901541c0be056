import type { Partition } from './partition.js';

/** The keys and the channel of one partition. All share the hash tag `{prefix:topic:partition}`, so one cluster slot. */
export interface PartitionKeys {
  /** ZSET: stored id → due time */
  readonly scheduled: string;
  /** ZSET: stored id → end of its lease */
  readonly inflight: string;
  /** HASH: stored id → envelope */
  readonly messages: string;
  /** HASH: stored id → delivery record, only once delivered or with a longest wait */
  readonly deliveries: string;
  /** HASH: claim → the record that its first deliveries share */
  readonly claims: string;
  /** ZSET: stored id → time of death */
  readonly dead: string;
  /** HASH: stored id → last failure */
  readonly errors: string;
  /** ZSET, all scores 0: the stored ids that have a key of their own */
  readonly keyed: string;
  /** ZSET: stored id → due time, of messages that wait behind another one of their key, or for a limit of it */
  readonly blocked: string;
  /** ZSET, all scores 0: the same ones in the order in which they follow */
  readonly queues: string;
  /** HASH: the head of each key of an ordered topic, and where its messages are placed */
  readonly places: string;
  /** ZSET, all scores 0: the deliveries that count against what may be in flight of their key */
  readonly running: string;
  /** HASH: key → until when it rests, and when its deliveries were granted */
  readonly rates: string;
  /** ZSET: key → until when that counts */
  readonly rated: string;
  /** ZSET: key → when to look again at its messages that wait for a limit */
  readonly resting: string;
  /** ZSET: stored id → when it ended, of messages that are kept though they have ended */
  readonly finished: string;
  /** HASH: stored id → what became of it, and its envelope */
  readonly endings: string;
  /** HASH: stored id → its tags, only of messages with tags */
  readonly tags: string;
  /** ZSET, all scores 0: the tag and the stored id of each message, for each of its tags */
  readonly tagged: string;
  /** STRING with PX: what the latest claim at most once has handed out */
  readonly handed: string;
  /** STRING: the owner */
  readonly owner: string;
  /** HASH: paused, counters */
  readonly meta: string;
  /** HASH: schedule → its state, definition and message */
  readonly schedules: string;
  /** ZSET: schedule → time of its next occurrence; infinite if there is none */
  readonly occurrences: string;
  /** Channel: signals to the owner */
  readonly channel: string;
}

/** The keys of one topic, with the hash tag `{prefix:topic}`. */
export interface TopicKeys {
  /** HASH: partitions, protocol, order, limits */
  readonly config: string;
  /** STRING: which processes have permits, and how many were permitted when */
  readonly permits: string;
}

/**
 * The keys and the channel of the fleet. A topic named `fleet` has the same hash tag, `{prefix:fleet}`; its key and those of
 * partitions have other names behind it.
 */
export interface FleetKeys {
  /** HASH: session → its latest heartbeat */
  readonly sessions: string;
  /** HASH: digest → the topics of that list */
  readonly handled: string;
  /** HASH: topic → the second copy of its config */
  readonly topics: string;
  /** HASH: session → how its process is */
  readonly processes: string;
  /** HASH: session → the partitions that its process owns, by topic */
  readonly holdings: string;
  /** HASH: schedule → where it is kept */
  readonly index: string;
  /** Channel: signals to all sessions */
  readonly channel: string;
}

/** The type of each key of a partition or of the fleet, and of the permits of a topic. */
const TYPES: Readonly<Record<string, 'ZSET' | 'HASH' | 'STRING'>> = {
  scheduled: 'ZSET',
  inflight: 'ZSET',
  messages: 'HASH',
  deliveries: 'HASH',
  claims: 'HASH',
  dead: 'ZSET',
  errors: 'HASH',
  keyed: 'ZSET',
  blocked: 'ZSET',
  queues: 'ZSET',
  places: 'HASH',
  running: 'ZSET',
  rates: 'HASH',
  rated: 'ZSET',
  resting: 'ZSET',
  finished: 'ZSET',
  endings: 'HASH',
  tags: 'HASH',
  tagged: 'ZSET',
  handed: 'STRING',
  owner: 'STRING',
  meta: 'HASH',
  schedules: 'HASH',
  occurrences: 'ZSET',
  answered: 'STRING',
  permits: 'STRING',
  sessions: 'HASH',
  handled: 'HASH',
  topics: 'HASH',
  processes: 'HASH',
  holdings: 'HASH',
  work: 'HASH',
  history: 'HASH',
  spans: 'HASH',
};

/**
 * Returns the required type of a key; `undefined` for the keys on which a whole topic depends, which only an operator may
 * replace.
 */
export function typeOfKey(key: string): 'ZSET' | 'HASH' | 'STRING' | undefined {
  const [, suffix = ''] = /\}:([a-z]+)(?::[^}]*)?$/.exec(key) ?? [];
  return TYPES[suffix];
}

/** Returns the name under which a key of another type is kept. */
export function asideOf(key: string): string {
  return `${key}:set-aside`;
}

/**
 * Returns a prefix as it stands in keys. Names can have colons too, so a prefix must not have any there: `shop` with topic `eu:mail` and
 * `shop:eu` with topic `mail` would have the same keys.
 */
export function prefixInKeys(prefix: string): string {
  return prefix.replaceAll(':', '/');
}

export class StoreKeys {
  readonly fleet: FleetKeys;
  /** As it stands in keys. */
  readonly prefix: string;
  readonly #partitions = new Map<string, PartitionKeys[]>();

  constructor(prefix: string) {
    this.prefix = prefixInKeys(prefix);
    const tag = `{${this.prefix}:fleet}`;
    this.fleet = {
      sessions: `${tag}:sessions`,
      handled: `${tag}:handled`,
      topics: `${tag}:topics`,
      processes: `${tag}:processes`,
      holdings: `${tag}:holdings`,
      index: `${tag}:schedules`,
      channel: `${tag}:signals`,
    };
  }

  /** HASH with PX: session and topic, with a space between → what the process did for the topic in this minute since the epoch */
  work(minute: number | string): string {
    return `{${this.prefix}:fleet}:work:${minute}`;
  }

  /** HASH: minutes of a span → for how long the history by such spans is kept, in milliseconds */
  get spans(): string {
    return `{${this.prefix}:fleet}:spans`;
  }

  /** HASH with PX: topic → what the fleet did for it in this span, counted from the epoch */
  history(span: number, number: number | string): string {
    return `{${this.prefix}:fleet}:history:${span}:${number}`;
  }

  /**
   * Key, and channel, used only to find out the rights of the user.
   *
   * @param number another one for each, on any node of a cluster
   */
  probe(number: number): string {
    return `{${this.prefix}:probe:${number}}`;
  }

  /** STREAM: what the processes of the fleet tell about their work */
  get events(): string {
    return `{${this.prefix}:events}`;
  }

  /** STREAM: what operators did */
  get audit(): string {
    return `{${this.prefix}:audit}`;
  }

  /** STRING with PX: that an entry of the audit log was written. */
  audited(id: string): string {
    return `${this.audit}:answered:${id}`;
  }

  partition({ topic, index }: Partition): PartitionKeys {
    let known = this.#partitions.get(topic);
    if (!known) this.#partitions.set(topic, (known = []));
    return (known[index] ??= partitionKeys(`{${this.prefix}:${topic}:${index}}`));
  }

  /** STRING with PX: the latest call of a caller, and its answer. */
  answered({ topic, index }: Partition, caller: string): string {
    return `{${this.prefix}:${topic}:${index}}:answered:${caller}`;
  }

  /** The same of calls about a topic. */
  answeredOfTopic(topic: string, caller: string): string {
    return `{${this.prefix}:${topic}}:answered:${caller}`;
  }

  /** The same of calls about the fleet. */
  answeredOfFleet(caller: string): string {
    return this.answeredOfTopic('fleet', caller);
  }

  topic(topic: string): TopicKeys {
    const tag = `{${this.prefix}:${topic}}`;
    return { config: `${tag}:config`, permits: `${tag}:permits` };
  }

  /** Channel: signals to one session */
  sessionChannel(session: string): string {
    return `${this.fleet.channel}:${session}`;
  }
}

function partitionKeys(tag: string): PartitionKeys {
  return {
    scheduled: `${tag}:scheduled`,
    inflight: `${tag}:inflight`,
    messages: `${tag}:messages`,
    deliveries: `${tag}:deliveries`,
    claims: `${tag}:claims`,
    dead: `${tag}:dead`,
    errors: `${tag}:errors`,
    keyed: `${tag}:keyed`,
    blocked: `${tag}:blocked`,
    queues: `${tag}:queues`,
    places: `${tag}:places`,
    running: `${tag}:running`,
    rates: `${tag}:rates`,
    rated: `${tag}:rated`,
    resting: `${tag}:resting`,
    finished: `${tag}:finished`,
    endings: `${tag}:endings`,
    tags: `${tag}:tags`,
    tagged: `${tag}:tagged`,
    handed: `${tag}:handed`,
    owner: `${tag}:owner`,
    meta: `${tag}:meta`,
    schedules: `${tag}:schedules`,
    occurrences: `${tag}:occurrences`,
    channel: `${tag}:signals`,
  };
}
