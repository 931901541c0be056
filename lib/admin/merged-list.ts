import { keyLimits } from '../store/deliveries/limits.js';
import type { TopicConfig } from '../store/fleet/topic-config.js';
import type { PeekedMessages, PeekedState, Position, StoredMessage } from '../store/messages/stored-message.js';
import type { Partition } from '../store/partition.js';
import { partitionOf } from '../messages/partitioner.js';
import { partitionsOf } from '../store/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import type { Positions } from './peek-cursor.js';

/** About how much is fetched at a time over all partitions, in characters. */
export const MAX_PAGE_LENGTH = 1024 * 1024;

/** What a partition is asked for at least, so that one that has all the messages does not take many calls. */
const MIN_MESSAGES_PER_CALL = 20;
const MIN_BYTES_PER_CALL = 64 * 1024;

/** Most calls in a row that bring nothing from a partition, before the list is left for now. */
const MAX_EMPTY_CALLS = 10;

/** Which messages are listed, and from where on. */
export interface ListedMessages {
  readonly topic: string;
  readonly config: Pick<TopicConfig, 'partitions' | 'order' | 'limits'>;
  readonly state: PeekedState;
  readonly tag?: string | undefined;
  /** Only the partition in which the messages of this key are. */
  readonly key?: string | undefined;
  /** Of those that wait, only what is due at this time or later; epoch milliseconds. By tag there is no such order, so it is left to the caller. */
  readonly from?: number | undefined;
  /** About how many are wanted. */
  readonly wanted: number;
  readonly start: Positions;
}

/**
 * Whether messages wait in two lists in each partition: those that others of their key, or its limits, keep waiting have one of their own.
 */
export function hasBlocked({ order, limits }: Pick<TopicConfig, 'order' | 'limits'>): boolean {
  return order !== undefined || (limits !== undefined && keyLimits(limits) !== undefined);
}

/** Where the list of those that wait begins with what is due at this time: an id is longer than this. */
export function placeBefore(from: number): Position {
  return { at: from, storedId: '\0' };
}

/** The messages of one state in the lists of all partitions, merged into one. */
export class MergedList {
  readonly #lists: readonly PartitionList[];
  readonly #isEarlier: (a: StoredMessage, b: StoredMessage) => boolean;

  constructor(
    dependencies: AdminDependencies,
    { topic, config, state, tag, key, from, wanted, start }: ListedMessages,
  ) {
    const { broker } = dependencies;
    const { partitions: count } = config;
    const partitions = key === undefined ? partitionsOf(topic, count) : [{ topic, index: partitionOf(key, count) }];
    const sections = state === 'scheduled' && tag === undefined && hasBlocked(config) ? [false, true] : [false];
    const maxBytes = Math.max(MIN_BYTES_PER_CALL, Math.floor(MAX_PAGE_LENGTH / partitions.length));
    const limit = Math.min(wanted, Math.max(MIN_MESSAGES_PER_CALL, Math.ceil((2 * wanted) / partitions.length)));
    const first = from === undefined || state !== 'scheduled' || tag !== undefined ? undefined : placeBefore(from);
    this.#isEarlier = tag === undefined ? isEarlier : hasLowerId;
    this.#lists = sections.flatMap((blocked, section) =>
      partitions.map((partition) => {
        const place = section * count + partition.index;
        const fetch: FetchMessages = (after) =>
          served(dependencies, () => broker.messages.peek(partition, { state, blocked, tag, after, limit, maxBytes }));
        return new PartitionList(partition, place, start.get(place) ?? first, fetch);
      }),
    );
  }

  get ended(): boolean {
    return this.#lists.every((list) => list.ended);
  }

  /** How far each list was listed. */
  get positions(): Positions {
    return new Map(this.#lists.flatMap(({ place, position }) => (position ? [[place, position] as const] : [])));
  }

  /**
   * Fetches what is needed to tell which message is the next one.
   *
   * @returns whether that can be told; if not, many calls have brought nothing
   * @throws BrokerUnavailableError
   */
  async fill(): Promise<boolean> {
    const hungry = this.#lists.filter((list) => list.hungry);
    if (hungry.length > 0) await Promise.all(hungry.map((list) => list.fill()));
    return !hungry.some((list) => list.hungry);
  }

  /** The next message; `undefined` if there is none any more. To be called after {@link fill}. */
  take(): { readonly partition: Partition; readonly stored: StoredMessage } | undefined {
    const list = this.#lists.reduce<PartitionList | undefined>((best, each) => {
      if (!each.first) return best;
      return best?.first && !this.#isEarlier(each.first, best.first) ? best : each;
    }, undefined);
    const stored = list?.take();
    return list && stored && { partition: list.partition, stored };
  }
}

function isEarlier(a: StoredMessage, b: StoredMessage): boolean {
  return a.at < b.at;
}

function hasLowerId(a: StoredMessage, b: StoredMessage): boolean {
  return a.storedId < b.storedId;
}

type FetchMessages = (after: Position | undefined) => Promise<PeekedMessages>;

/** A list of messages of one partition, in their order: what was fetched and not listed yet, and how far it is listed. */
class PartitionList {
  readonly partition: Partition;
  /** Names this list in a cursor. */
  readonly place: number;
  readonly #fetch: FetchMessages;
  readonly #fetched: StoredMessage[] = [];
  /** Of what was listed last. */
  #position: Position | undefined;
  /** Behind what was fetched last. */
  #next: Position | undefined;
  #more = true;

  /** @param start the list begins behind this place */
  constructor(partition: Partition, place: number, start: Position | undefined, fetch: FetchMessages) {
    this.partition = partition;
    this.place = place;
    this.#fetch = fetch;
    this.#position = this.#next = start;
  }

  /** It has to be filled before anything can be said of its first message. */
  get hungry(): boolean {
    return this.#more && this.#fetched.length === 0;
  }

  get ended(): boolean {
    return !this.#more && this.#fetched.length === 0;
  }

  get first(): StoredMessage | undefined {
    return this.#fetched[0];
  }

  /** Where to go on another time; `undefined` if nothing was listed. */
  get position(): Position | undefined {
    return this.hungry ? this.#next : this.#position;
  }

  async fill(): Promise<void> {
    for (let calls = 0; this.hungry && calls < MAX_EMPTY_CALLS; calls++) {
      const { messages, next } = await this.#fetch(this.#next);
      this.#fetched.push(...messages);
      this.#next = next;
      this.#more = next !== undefined;
    }
  }

  take(): StoredMessage | undefined {
    const stored = this.#fetched.shift();
    if (stored) this.#position = { at: stored.at, storedId: stored.storedId };
    return stored;
  }
}
