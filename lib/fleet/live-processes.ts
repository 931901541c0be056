import type { Broker } from '../store/broker.interface.js';
import type { SessionRecord } from '../store/fleet/sessions.js';
import type { ReportedProcess } from '../store/records/process-records.js';
import { type SeenReceiver, seenReceivers } from './receivers.js';

// For callers that look once: whether a session lives is judged by the time of its latest heartbeat, and so by the clocks of the processes.
// Only what is shown may depend on it.

/** Parts of the broker needed to look at the fleet without being a member. */
export type FleetSource = Pick<Broker, 'fleet' | 'records' | 'now'>;

/** A process that seems to live. */
export interface LiveProcess {
  readonly session: SessionRecord;
  /** The topics that it handles. */
  readonly topics: readonly string[];
  readonly told: ReportedProcess;
}

/** Returns the sessions that seem to live. */
export async function liveSessions(store: Pick<FleetSource, 'fleet' | 'now'>): Promise<ReadonlySet<string>> {
  return new Set((await livingRecords(store)).map(({ session }) => session));
}

/** Returns the processes that seem to live, with their own reports; sorted by name. */
export async function liveProcesses(store: FleetSource): Promise<LiveProcess[]> {
  const records = await livingRecords(store);
  const digests = [...new Set(records.map(({ digest }) => digest))];
  const lists = digests.length === 0 ? [] : await store.fleet.rememberedTopics(digests);
  const topicsOf = new Map(digests.map((digest, i) => [digest, lists[i] ?? []]));
  const reported = await store.records.reportedProcesses(records.map(({ session }) => session));
  return records.map((session, i) => ({
    session,
    topics: topicsOf.get(session.digest) ?? [],
    told: reported[i] as ReportedProcess,
  }));
}

/** Returns those who receive messages from these processes, or did so lately. */
export function receiversOf(processes: readonly LiveProcess[], now: number): SeenReceiver[] {
  const told = processes.map((one) => ({ session: one.session.session, receivers: one.told.state?.receivers }));
  return seenReceivers(told, now);
}

/** Returns the topics that some process seems to handle, or some receiver to receive. */
export async function handledTopics(store: FleetSource): Promise<ReadonlySet<string>> {
  const processes = await liveProcesses(store);
  const received = receiversOf(processes, store.now()).filter(({ state }) => state !== 'gone');
  return new Set([...processes.flatMap(({ topics }) => topics), ...received.map(({ topic }) => topic)]);
}

/**
 * Returns the topics that some process seems to have a handler for (those that it handles, and those whose intake is stopped there), and those
 * that are received.
 */
export async function topicsOfFleet(store: FleetSource): Promise<ReadonlySet<string>> {
  const processes = await liveProcesses(store);
  const told = processes.flatMap(({ topics, told: { holdings = {}, state } }) => [
    ...topics,
    ...Object.keys(holdings),
    ...(state?.receivers ?? []).map(({ topic }) => topic),
  ]);
  return new Set(told);
}

async function livingRecords(store: Pick<FleetSource, 'fleet' | 'now'>): Promise<SessionRecord[]> {
  const records = await store.fleet.sessions();
  const now = store.now();
  return records.filter(({ left, at, length }) => !left && at + length > now);
}
