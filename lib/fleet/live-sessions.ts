import type { Broker } from '../broker/broker.interface.js';

/** What is needed to look at the fleet without being a part of it. */
export type FleetStore = Pick<Broker, 'sessions' | 'rememberedTopics' | 'now'>;

/**
 * The sessions that seem to live, for those who look once: by the time of their latest heartbeats, and so by the clocks of the
 * processes. Nothing but what is shown may depend on it.
 */
export async function liveSessions(store: Pick<FleetStore, 'sessions' | 'now'>): Promise<ReadonlySet<string>> {
  return new Set((await livingRecords(store)).map(({ session }) => session));
}

/** The topics that some process seems to handle. */
export async function handledTopics(store: FleetStore): Promise<ReadonlySet<string>> {
  const digests = [...new Set((await livingRecords(store)).map(({ digest }) => digest))];
  const lists = digests.length === 0 ? [] : await store.rememberedTopics(digests);
  return new Set(lists.flatMap((topics) => topics ?? []));
}

async function livingRecords(store: Pick<FleetStore, 'sessions' | 'now'>) {
  const records = await store.sessions();
  const now = store.now();
  return records.filter(({ left, at, length }) => !left && at + length > now);
}
