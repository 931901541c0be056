import type { DelayQueueAdmin } from 'nestjs-delay-queue';
import type { PeekPage, PeekState } from 'nestjs-delay-queue/admin';

const PAGE = 200;

export interface Listed {
  readonly id: string;
  readonly at: number;
}

export interface Listing {
  readonly topic: string;
  readonly state: PeekState;
  /** Requests each page, once or more. */
  readonly ask: (peek: () => Promise<PeekPage>) => Promise<PeekPage>;
  /** Called after each page, with its number. */
  readonly between?: (page: number) => Promise<unknown>;
}

/** Lists a state of a topic page by page, to its end. */
export async function listAll(admin: DelayQueueAdmin, { topic, state, ask, between }: Listing): Promise<Listed[]> {
  const all: Listed[] = [];
  let cursor: string | undefined;
  let page = 0;
  do {
    const after = cursor;
    const listed = await ask(async () => admin.peek(topic, state, { limit: PAGE, cursor: after }));
    for (const { id, at } of listed.messages) all.push({ id, at: at.getTime() });
    cursor = listed.cursor;
    await between?.(++page);
  } while (cursor !== undefined);
  return all;
}

export interface ListingFaults {
  /** How often each id was listed, for ids that were not listed exactly once. */
  readonly notOnce: Readonly<Record<string, number>>;
  /** Ids that came after later ones. */
  readonly outOfOrder: readonly string[];
}

export const NO_FAULTS: ListingFaults = { notOnce: {}, outOfOrder: [] };

/** What is wrong with the listing of these ids, which existed all the time. Nothing is promised for others. */
export function listingFaults(listed: readonly Listed[], ids: readonly string[]): ListingFaults {
  const times = new Map(ids.map((id) => [id, 0]));
  const outOfOrder: string[] = [];
  let last = -Infinity;
  for (const { id, at } of listed) {
    const before = times.get(id);
    if (before === undefined) continue;
    times.set(id, before + 1);
    if (at < last) outOfOrder.push(id);
    last = at;
  }
  return { notOnce: Object.fromEntries([...times].filter(([, listings]) => listings !== 1)), outOfOrder };
}
