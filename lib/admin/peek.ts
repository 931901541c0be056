import { MAX_BATCH } from '../store/partition.js';
import { type Rules, applyRules, asGiven, integer, orElse } from '../checks/rules.js';
import { assertOneOf } from '../checks/validate.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type ListedMessage, type MessageDetails, type View, toDetails } from './message-details.js';
import { assertListedTag, lengthOf } from './message-filter.js';
import { MAX_PAGE_LENGTH, MergedList } from './merged-list.js';
import { decodeCursor, encodeCursor } from './peek-cursor.js';

/**
 * Messages that `peek()` lists. `'due'`: scheduled messages whose time has come and that don't wait behind others of their key.
 * `'finished'`: messages that have ended and are kept.
 *
 * @publicApi
 */
export type PeekState = 'scheduled' | 'due' | 'in-flight' | 'dead' | 'finished';

/**
 * Options of `peek()`.
 *
 * @publicApi
 */
export interface PeekOptions {
  /** Most messages per page, 1 to 200. @defaultValue 50 */
  limit?: number;
  /** The cursor of the previous page. Without it, the list starts from the beginning. */
  cursor?: string | undefined;
  /**
   * Only lists messages with this tag, in order of their ids. A page can be empty even if there is another one after it. Finished messages
   * can't be listed by tag.
   */
  tag?: string | undefined;
}

/**
 * A page of a list of messages.
 *
 * @publicApi
 */
export interface PeekPage {
  /** In order of {@link MessageDetails.at}, by tag in order of ids; fewer than {@link PeekOptions.limit} if they are large, and at the end. */
  readonly messages: readonly MessageDetails[];
  /** Cursor of the next page; `undefined` if this is the last one. */
  readonly cursor: string | undefined;
}

/** A page of messages as a view shows them. */
export type Peeked<T> = Omit<PeekPage, 'messages'> & { readonly messages: readonly T[] };

export const PEEK_STATES = [
  'scheduled',
  'due',
  'in-flight',
  'dead',
  'finished',
] as const satisfies readonly PeekState[];
const PEEK_RULES = {
  limit: orElse(integer(1, MAX_BATCH), 50),
  cursor: asGiven<string | undefined>,
  tag: asGiven<string | undefined>,
} satisfies Rules<PeekOptions>;

/**
 * Lists the messages of one state, a page at a time.
 *
 * @throws InvalidArgumentError, BrokerUnavailableError
 */
export async function peek<T extends ListedMessage>(
  dependencies: AdminDependencies,
  topic: string,
  state: PeekState,
  { options, view }: { readonly options: PeekOptions; readonly view: View<T> },
): Promise<Peeked<T>> {
  assertOneOf('state', state, PEEK_STATES);
  const { limit, cursor, tag } = applyRules(PEEK_RULES, 'The options of peek', options, '');
  if (tag !== undefined) assertListedTag(tag, [state]);
  const start = cursor === undefined ? new Map() : decodeCursor(cursor, { topic, state, tag });
  const config = await served(dependencies, () => dependencies.broker.fleet.configOf(topic));
  if (!config) return { messages: [], cursor: undefined };
  const list = new MergedList(dependencies, { topic, config, state, tag, wanted: limit, start });
  const serializer = dependencies.serializerOf(topic);
  const messages: T[] = [];
  let length = 0;
  while (messages.length < limit && length < MAX_PAGE_LENGTH && (await list.fill())) {
    const next = list.take();
    if (!next) break;
    const message = view(toDetails(next.partition, next.stored, serializer));
    messages.push(message);
    length += lengthOf(message);
  }
  return { messages, cursor: list.ended ? undefined : encodeCursor({ topic, state, tag }, list.positions) };
}
