import type { Broker, SessionRecord } from '../broker/broker.interface.js';

// For those who look once: whether a session lives is told by the time of its latest heartbeat, and so by the clocks of the processes.
// Nothing but what is shown may depend on it.

/** What is needed to look at the fleet without being a part of it. */
export type FleetStore = Pick<Broker, 'sessions' | 'rememberedTopics' | 'now'>;

/** A process that seems to live. */
export interface LiveProcess {
  readonly session: SessionRecord;
  /** The topics that it handles. */
  readonly topics: readonly string[];
}

/** The sessions that seem to live. */
export async function liveSessions(store: Pick<FleetStore, 'sessions' | 'now'>): Promise<ReadonlySet<string>> {
  return new Set((await livingRecords(store)).map(({ session }) => session));
}

/** The processes that seem to live, sorted by name. */
export async function liveProcesses(store: FleetStore): Promise<LiveProcess[]> {
  const records = await livingRecords(store);
  const digests = [...new Set(records.map(({ digest }) => digest))];
  const lists = digests.length === 0 ? [] : await store.rememberedTopics(digests);
  const topicsOf = new Map(digests.map((digest, i) => [digest, lists[i] ?? []]));
  return records.map((session) => ({ session, topics: topicsOf.get(session.digest) ?? [] }));
}

/** The topics that some process seems to handle. */
export async function handledTopics(store: FleetStore): Promise<ReadonlySet<string>> {
  return new Set((await liveProcesses(store)).flatMap(({ topics }) => topics));
}

/** The topics that some process seems to have a handler for: those that it handles, and those whose intake is stopped there. */
export async function topicsOfFleet(
  store: FleetStore & Pick<Broker, 'reportedProcesses'>,
): Promise<ReadonlySet<string>> {
  const processes = await liveProcesses(store);
  const reported = await store.reportedProcesses(processes.map(({ session }) => session.session));
  const held = reported.flatMap(({ holdings = {} }) => Object.keys(holdings));
  return new Set([...processes.flatMap(({ topics }) => topics), ...held]);
}

async function livingRecords(store: Pick<FleetStore, 'sessions' | 'now'>): Promise<SessionRecord[]> {
  const records = await store.sessions();
  const now = store.now();
  return records.filter(({ left, at, length }) => !left && at + length > now);
}
