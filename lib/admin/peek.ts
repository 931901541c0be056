import { MAX_BATCH } from '../broker/broker.interface.js';
import { assertInteger, assertOneOf, assertOptions } from '../checks/validate.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type MessageDetails, toDetails } from './message-details.js';
import { assertListedTag } from './message-filter.js';
import { MAX_PAGE_LENGTH, MergedList } from './merged-list.js';
import { decodeCursor, encodeCursor } from './peek-cursor.js';

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

export const PEEK_STATES = [
  'scheduled',
  'due',
  'in-flight',
  'dead',
  'finished',
] as const satisfies readonly PeekState[];
const DEFAULT_LIMIT = 50;

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
  assertOptions('The options of peek', options, ['limit', 'cursor', 'tag']);
  const { limit = DEFAULT_LIMIT, cursor, tag } = options;
  assertInteger('limit', limit, { min: 1, max: MAX_BATCH });
  if (tag !== undefined) assertListedTag(tag, [state]);
  const start = cursor === undefined ? new Map() : decodeCursor(cursor, { topic, state, tag });
  const config = await served(dependencies, () => dependencies.broker.configOf(topic));
  if (!config) return { messages: [], cursor: undefined };
  const list = new MergedList(dependencies, { topic, config, state, tag, wanted: limit, start });
  const serializer = dependencies.serializerOf(topic);
  const messages: MessageDetails[] = [];
  let length = 0;
  while (messages.length < limit && length < MAX_PAGE_LENGTH && (await list.fill())) {
    const next = list.take();
    if (!next) break;
    messages.push(toDetails(next.partition, next.stored, serializer));
    length += next.stored.envelope.length;
  }
  return { messages, cursor: list.ended ? undefined : encodeCursor({ topic, state, tag }, list.positions) };
}
