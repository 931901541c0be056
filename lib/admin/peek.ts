import {
  MAX_BATCH,
  type Partition,
  type PeekedMessages,
  type Position,
  type StoredMessage,
} from '../broker/broker.interface.js';
import { assertInteger, assertOneOf, assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { assertId } from '../messages/assert-id.js';
import { partitionOf } from '../messages/partitioner.js';
import { assertTag } from '../messages/tags.js';
import { partitionsOf } from '../topics/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type MessageDetails, toDetails } from './message-details.js';
import { type Positions, decodeCursor, encodeCursor } from './peek-cursor.js';

/**
 * Which messages `peek()` lists. `'due'`: of the scheduled ones, those whose time has come and that no others of their key keep
 * waiting. `'finished'`: those that have ended and are kept.
 *
 * @publicApi
 */
export type PeekState = 'scheduled' | 'due' | 'in-flight' | 'dead' | 'finished';

/**
 * How `peek()` lists.
 *
 * @publicApi
 */
export interface PeekOptions {
  /** Most messages of the page, 1 to 200. @defaultValue 50 */
  limit?: number;
  /** Of the page before; without it, the list begins anew. */
  cursor?: string | undefined;
  /**
   * Lists only messages that carry this tag, in order of their ids. A page may be empty although there is another one. Finished messages are
   * not found by their tags.
   */
  tag?: string | undefined;
  /**
   * Lists only messages of this key. It looks at all that have the state, up to 100,000 of them for each page, so a page may be empty
   * although there is another one.
   */
  key?: string | undefined;
}

/**
 * A page of a list of messages.
 *
 * @publicApi
 */
export interface PeekPage {
  /** In order of {@link MessageDetails.at}, by tag in order of ids; fewer than {@link PeekOptions.limit} if they are large, and at the end. */
  readonly messages: readonly MessageDetails[];
  /** For the next page; `undefined` if this was the last. */
  readonly cursor: string | undefined;
}

const PEEK_STATES: readonly PeekState[] = ['scheduled', 'due', 'in-flight', 'dead', 'finished'];
const DEFAULT_LIMIT = 50;

/** A page ends once the envelopes of its messages add up to this, in characters. */
const MAX_PAGE_LENGTH = 1024 * 1024;

/** What a partition is asked for at least, so that one that has all the messages does not take many calls. */
const MIN_MESSAGES_PER_CALL = 20;
const MIN_BYTES_PER_CALL = 64 * 1024;

/** Most calls in a row that bring nothing from a partition, before the page ends. By key each looks at 1,000 messages, by tag at 200. */
const MAX_EMPTY_CALLS = 10;
const MAX_EMPTY_CALLS_BY_KEY = 100;

/**
 * Lists the messages of one state, a page at a time.
 *
 * @throws InvalidArgumentError, BrokerUnavailableError
 */
export async function peek(
  dependencies: AdminDependencies,
  topic: string,
  state: PeekState,
  options: PeekOptions,
): Promise<PeekPage> {
  assertOneOf('state', state, PEEK_STATES);
  assertOptions('The options of peek', options, ['limit', 'cursor', 'tag', 'key']);
  const { limit = DEFAULT_LIMIT, cursor, tag, key } = options;
  assertInteger('limit', limit, { min: 1, max: MAX_BATCH });
  if (tag !== undefined) assertTag('tag', tag);
  if (tag !== undefined && state === 'finished') {
    throw new InvalidArgumentError(
      `Finished messages are not found by their tags: leave 'tag' out, or choose another state.`,
    );
  }
  if (key !== undefined) assertId('key', key);
  if (tag !== undefined && key !== undefined) {
    throw new InvalidArgumentError(`peek() lists by tag or by key: leave one of them out.`);
  }
  const start = cursor === undefined ? new Map() : decodeCursor(cursor, { topic, state, tag, key });
  return served(dependencies, () => listPage(dependencies, { topic, state, limit, tag, key, start }));
}

interface WantedPage {
  readonly topic: string;
  readonly state: PeekState;
  readonly limit: number;
  readonly tag: string | undefined;
  readonly key: string | undefined;
  readonly start: Positions;
}

/** Merges the lists of all partitions into one, as far as a page goes. */
async function listPage(
  { broker, serializerOf }: AdminDependencies,
  { topic, state, limit, tag, key, start }: WantedPage,
): Promise<PeekPage> {
  const { partitions: count = 0 } = (await broker.configOf(topic)) ?? {};
  // What an order or a limit of its key keeps waiting is in a list of its own. Any topic may have some: a handler can meet a limit of a key.
  const sections = state === 'scheduled' && tag === undefined ? [false, true] : [false];
  // A key has one partition.
  const asked =
    key === undefined || count === 0 ? partitionsOf(topic, count) : [{ topic, index: partitionOf(key, count) }];
  const maxBytes = Math.max(MIN_BYTES_PER_CALL, Math.floor(MAX_PAGE_LENGTH / asked.length));
  const perCall = Math.min(limit, Math.max(MIN_MESSAGES_PER_CALL, Math.ceil((2 * limit) / asked.length)));
  const patience = key === undefined ? MAX_EMPTY_CALLS : MAX_EMPTY_CALLS_BY_KEY;
  const lists = sections.flatMap((blocked, section) =>
    asked.map((partition) => {
      const place = section * count + partition.index;
      const fetch: FetchMessages = (after) =>
        broker.peek(partition, { state, blocked, tag, key, after, limit: perCall, maxBytes });
      return new PartitionList(partition, place, start.get(place), fetch);
    }),
  );
  const serializer = serializerOf(topic);

  const messages: MessageDetails[] = [];
  let length = 0;
  while (messages.length < limit && length < MAX_PAGE_LENGTH) {
    await Promise.all(lists.filter((list) => list.hungry).map((list) => list.fill(patience)));
    if (lists.some((list) => list.hungry)) break;
    const list = lists.reduce<PartitionList | undefined>(tag === undefined ? earlier : byId, undefined);
    const stored = list?.take();
    if (!list || !stored) break;
    messages.push(toDetails(list.partition, stored, serializer));
    length += stored.envelope.length;
  }
  const ended = lists.every((list) => list.ended);
  const positions = lists.flatMap(({ place, position }) => (position ? [[place, position] as const] : []));
  return { messages, cursor: ended ? undefined : encodeCursor({ topic, state, tag, key }, new Map(positions)) };
}

function earlier(best: PartitionList | undefined, list: PartitionList): PartitionList | undefined {
  if (!list.first) return best;
  return best?.first && best.first.at <= list.first.at ? best : list;
}

/** The one whose first message has the lower id. */
function byId(best: PartitionList | undefined, list: PartitionList): PartitionList | undefined {
  if (!list.first) return best;
  return best?.first && best.first.storedId <= list.first.storedId ? best : list;
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

  /** @param patience most calls */
  async fill(patience: number): Promise<void> {
    for (let calls = 0; this.hungry && calls < patience; calls++) {
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
