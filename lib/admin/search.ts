import { MAX_BATCH } from '../store/partition.js';
import { describe } from '../checks/describe.js';
import { type Rules, abortSignal, applyRules, asGiven, integer, orElse } from '../checks/rules.js';
import { assertOneOf } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type ListedMessage, type MessageDetails, type View, toDetails } from './message-details.js';
import {
  type CheckedMessageFilter,
  type MessageFilter,
  checkedMessageFilter,
  fitsContent,
  fitsOutside,
  lengthOf,
} from './message-filter.js';
import { MAX_PAGE_LENGTH, MergedList } from './merged-list.js';
import { type ListedPart, type Positions, decodeCursor, encodeCursor } from './peek-cursor.js';

/**
 * Options of `search()`.
 *
 * @publicApi
 */
export interface SearchOptions {
  /**
   * In which states, one after the other; can include `'finished'`.
   *
   * @defaultValue `['scheduled', 'in-flight', 'dead']`; with `from` or `to` in the filter `['scheduled']`, because messages in the other
   * states have no known due time
   */
  readonly states?: readonly MessageDetails['state'][] | undefined;
  /** Most messages to find, 1 to 200. @defaultValue 50 */
  readonly limit?: number | undefined;
  /** Most messages to read, 1 to 100,000. @defaultValue 5,000 */
  readonly maxRead?: number | undefined;
  /** The cursor of the previous call, with the same filter and states. @defaultValue the search starts from the beginning */
  readonly cursor?: string | undefined;
  /** Ends the call early; it then answers what it has found so far. @defaultValue none */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Result of `search()`.
 *
 * @publicApi
 */
export interface SearchPage {
  /** Grouped by state, each in the order of `peek()`. It can be empty although the search is not over. */
  readonly messages: readonly MessageDetails[];
  /** Number of messages that the call has read. */
  readonly read: number;
  /** Cursor for the next call; `undefined` if all messages were read. */
  readonly cursor: string | undefined;
}

/** A page of messages as a view shows them. */
export type Found<T> = Omit<SearchPage, 'messages'> & { readonly messages: readonly T[] };

type State = MessageDetails['state'];

const STATES: readonly State[] = ['scheduled', 'in-flight', 'dead', 'finished'];
const DEFAULT_STATES: readonly State[] = ['scheduled', 'in-flight', 'dead'];
const DEFAULT_LIMIT = 50;
const DEFAULT_MAX_READ = 5000;
const MOST_READ = 100_000;

/**
 * Searches for messages that match a filter, for as long as the options allow.
 *
 * @throws InvalidArgumentError, BrokerUnavailableError
 */
export async function search<T extends ListedMessage>(
  dependencies: AdminDependencies,
  topic: string,
  given: MessageFilter,
  { options, view }: { readonly options: SearchOptions; readonly view: View<T> },
): Promise<Found<T>> {
  const { filter, states, limit, maxRead, signal, start } = checkedSearch(topic, given, options);
  const config = await served(dependencies, () => dependencies.broker.fleet.configOf(topic));
  if (!config) return { messages: [], read: 0, cursor: undefined };
  const serializer = dependencies.serializerOf(topic);
  const { tag, key, from, to = Infinity } = filter;
  const messages: T[] = [];
  let [read, length, positions] = [0, 0, start.positions];
  for (const state of states.slice(start.index)) {
    const list = new MergedList(dependencies, {
      topic,
      config,
      state,
      tag,
      key,
      from,
      wanted: MAX_BATCH,
      start: positions,
    });
    // Messages after one that is due too late are due later still.
    let isOver = false;
    while (!isOver) {
      const isEnough = messages.length === limit || length >= MAX_PAGE_LENGTH || read === maxRead || signal.aborted;
      if (isEnough || !(await list.fill())) {
        if (list.ended) break;
        return { messages, read, cursor: cursorOf({ topic, state, tag }, list.positions) };
      }
      const next = list.take();
      if (!next) break;
      read++;
      const { partition, stored } = next;
      isOver = state === 'scheduled' && tag === undefined && stored.at >= to;
      if (isOver || !fitsOutside(stored, filter)) continue;
      const message = view(toDetails(partition, stored, serializer));
      if (!fitsContent(message, filter)) continue;
      messages.push(message);
      length += lengthOf(message);
    }
    positions = new Map();
  }
  return { messages, read, cursor: undefined };
}

interface CheckedSearch {
  readonly filter: CheckedMessageFilter;
  readonly states: readonly State[];
  readonly limit: number;
  readonly maxRead: number;
  readonly signal: AbortSignal;
  readonly start: { readonly index: number; readonly positions: Positions };
}

/** @throws InvalidArgumentError */
function checkedSearch(topic: string, given: MessageFilter, options: SearchOptions): CheckedSearch {
  const { cursor, states: wanted, ...used } = applyRules(SEARCH_RULES, 'The options of search', options, '');
  const states = statesOf(given, wanted);
  const filter = checkedMessageFilter(given, states);
  return { ...used, filter, states, start: startOf(topic, cursor, states, filter) };
}

const SEARCH_RULES = {
  states: asGiven,
  limit: orElse(integer(1, MAX_BATCH), DEFAULT_LIMIT),
  maxRead: orElse(integer(1, MOST_READ), DEFAULT_MAX_READ),
  cursor: asGiven<string | undefined>,
  signal: abortSignal,
} satisfies Rules<SearchOptions>;

function statesOf(filter: MessageFilter | null, states: unknown): readonly State[] {
  if (states === undefined) {
    return filter?.from === undefined && filter?.to === undefined ? DEFAULT_STATES : ['scheduled'];
  }
  if (!Array.isArray(states) || states.length === 0) {
    throw new InvalidArgumentError(`states must be an array of at least one state. Given: ${describe(states)}.`);
  }
  states.forEach((state: unknown, i) => assertOneOf(`states[${i}]`, state, STATES));
  return [...new Set(states as State[])];
}

/** Makes a cursor of a state and the positions in its lists; nothing follows the state if no list was begun. */
function cursorOf(part: ListedPart, positions: Positions): string {
  return `${part.state}.${positions.size === 0 ? '' : encodeCursor(part, positions)}`;
}

/** @throws InvalidArgumentError unless {@link cursorOf} has made it */
function startOf(
  topic: string,
  cursor: unknown,
  states: readonly State[],
  { tag }: CheckedMessageFilter,
): CheckedSearch['start'] {
  if (cursor === undefined) return { index: 0, positions: new Map() };
  const [before, place] = typeof cursor === 'string' ? cursor.split('.') : [];
  const index = states.findIndex((each) => each === before);
  const state = states[index];
  if (state !== undefined) {
    return { index, positions: place === '' ? new Map() : decodeCursor(place, { topic, state, tag }, 'search') };
  }
  throw new InvalidArgumentError(
    `cursor must be one that search() has returned for topic '${topic}' and one of these states: ${states.join(', ')}. ` +
      `Given: ${describe(cursor)}.`,
  );
}
