import { keyLimits } from '../store/deliveries/limits.js';
import type { TopicConfig } from '../store/fleet/topic-config.js';
import type { PeekedMessages, PeekedState, Position, StoredMessage } from '../store/messages/stored-message.js';
import type { Partition } from '../store/partition.js';
import { partitionOf } from '../messages/partitioner.js';
import { partitionsOf } from '../store/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import type { Positions } from './peek-cursor.js';

/** Approximate size of one fetch over all partitions, in characters. */
export const MAX_PAGE_LENGTH = 1024 * 1024;

/** Least that a partition is asked for, so that one that has all the messages does not take many calls. */
const MIN_MESSAGES_PER_CALL = 20;
const MIN_BYTES_PER_CALL = 64 * 1024;

/** Most consecutive calls that bring nothing from a partition before the list gives up for now. */
const MAX_EMPTY_CALLS = 10;

/** Messages to list, and the position to start from. */
export interface ListedMessages {
  readonly topic: string;
  readonly config: Pick<TopicConfig, 'partitions' | 'order' | 'limits'>;
  readonly state: PeekedState;
  readonly tag?: string | undefined;
  /** Restricts the list to the partition of this key. */
  readonly key?: string | undefined;
  /** Earliest due time of waiting messages, in epoch milliseconds. Lists by tag have no such order, so there it is left to the caller. */
  readonly from?: number | undefined;
  /** Approximate number of wanted messages. */
  readonly wanted: number;
  readonly start: Positions;
}

/**
 * Whether messages wait in two lists per partition: those held back by others of their key, or by its limits, have a list of their own.
 */
export function hasBlocked({ order, limits }: Pick<TopicConfig, 'order' | 'limits'>): boolean {
  return order !== undefined || (limits !== undefined && keyLimits(limits) !== undefined);
}

/** Returns the position in the list of waiting messages right before those due at this time: every id is longer than this one. */
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

  /** Position reached in each list. */
  get positions(): Positions {
    return new Map(this.#lists.flatMap(({ place, position }) => (position ? [[place, position] as const] : [])));
  }

  /**
   * Fetches what is needed to determine the next message.
   *
   * @returns whether it can be determined; if not, many calls have brought nothing
   * @throws BrokerUnavailableError
   */
  async fill(): Promise<boolean> {
    const hungry = this.#lists.filter((list) => list.hungry);
    if (hungry.length > 0) await Promise.all(hungry.map((list) => list.fill()));
    return !hungry.some((list) => list.hungry);
  }

  /** Takes the next message; `undefined` if there is none left. Call this after {@link fill}. */
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

/** An ordered list of messages of one partition: those fetched and not listed yet, and the position reached. */
class PartitionList {
  readonly partition: Partition;
  /** Number of this list in a cursor. */
  readonly place: number;
  readonly #fetch: FetchMessages;
  readonly #fetched: StoredMessage[] = [];
  /** Position of the message listed last. */
  #position: Position | undefined;
  /** Position after the messages fetched last. */
  #next: Position | undefined;
  #more = true;

  /** @param start position after which the list begins */
  constructor(partition: Partition, place: number, start: Position | undefined, fetch: FetchMessages) {
    this.partition = partition;
    this.place = place;
    this.#fetch = fetch;
    this.#position = this.#next = start;
  }

  /** Whether it has to be filled before its first message is known. */
  get hungry(): boolean {
    return this.#more && this.#fetched.length === 0;
  }

  get ended(): boolean {
    return !this.#more && this.#fetched.length === 0;
  }

  get first(): StoredMessage | undefined {
    return this.#fetched[0];
  }

  /** Position to continue from later; `undefined` if nothing was listed. */
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
