import type { Broker } from '../broker/broker.interface.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { toDetails } from './message-details.js';
import { type FetchMessages, PartitionList } from './partition-list.js';
import { type Positions, encodeCursor } from './peek-cursor.js';
import type { MessageDetails, PeekPage, PeekState } from './topic-stats.interface.js';

/** A page ends once the envelopes of its messages add up to this, in characters. */
const MAX_PAGE_LENGTH = 1024 * 1024;

/** What a partition is asked for at least, so that one that has it all does not take many calls. */
const MIN_MESSAGES_PER_CALL = 20;
const MIN_BYTES_PER_CALL = 64 * 1024;

export interface ListRequest {
  readonly topic: string;
  readonly state: PeekState;
  readonly limit: number;
  readonly start: Positions;
  readonly serializer: PayloadSerializer | undefined;
}

type ListedStore = Pick<Broker, 'configOf' | 'peek'>;

/** Merges the lists of all partitions into one, as far as a page goes. */
export async function listTopic(
  store: ListedStore,
  { topic, state, limit, start, serializer }: ListRequest,
): Promise<PeekPage> {
  const count = (await store.configOf(topic))?.partitions ?? 0;
  const maxBytes = Math.max(MIN_BYTES_PER_CALL, Math.floor(MAX_PAGE_LENGTH / count));
  const perCall = Math.min(limit, Math.max(MIN_MESSAGES_PER_CALL, Math.ceil((2 * limit) / count)));
  const fetch: FetchMessages = (partition, after) => store.peek(partition, { state, after, limit: perCall, maxBytes });
  const lists = Array.from(
    { length: count },
    (_, index) => new PartitionList({ topic, index }, start.get(index), fetch),
  );

  const messages: MessageDetails[] = [];
  let length = 0;
  while (messages.length < limit && length < MAX_PAGE_LENGTH) {
    await Promise.all(lists.filter((list) => list.hungry).map((list) => list.fill()));
    const list = lists.reduce<PartitionList | undefined>(earlier, undefined);
    const stored = list?.take();
    if (!list || !stored) break;
    messages.push(toDetails(list.partition, stored, serializer));
    length += stored.envelope.length;
  }
  const ended = lists.every((list) => list.ended);
  const positions = lists.flatMap(({ partition: { index }, position }) =>
    position ? [[index, position] as const] : [],
  );
  return { messages, cursor: ended ? undefined : encodeCursor(topic, state, new Map(positions)) };
}

function earlier(best: PartitionList | undefined, list: PartitionList): PartitionList | undefined {
  if (!list.first) return best;
  return best?.first && best.first.at <= list.first.at ? best : list;
}
