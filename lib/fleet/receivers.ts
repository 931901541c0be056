import type { ReportedReceiver } from '../store/records/process-records.js';

/** Time after it was last seen for which a receiver with no message still counts as there, in milliseconds: the next call may follow soon. */
const IDLE_FOR = 30_000;

/**
 * State of a receiver. `busy`: has messages. `idle`: waits for some, or did a moment ago. `gone`: has none, and has not asked for any for 30 s.
 *
 * @publicApi
 */
export type ReceiverState = 'busy' | 'idle' | 'gone';

/** A receiver of messages of a topic, through any processes. */
export interface SeenReceiver extends Required<ReportedReceiver> {
  readonly state: ReceiverState;
  /** The sessions of the processes, sorted. */
  readonly sessions: readonly string[];
}

/** Report of a process on those who receive from it. */
export interface ToldReceivers {
  readonly session: string;
  readonly receivers: readonly ReportedReceiver[] | undefined;
}

/**
 * Merges the reports of processes, by topic and name.
 *
 * @param now epoch milliseconds on the broker's clock
 */
export function seenReceivers(told: readonly ToldReceivers[], now: number): SeenReceiver[] {
  const seen = new Map<string, SeenReceiver>();
  for (const { session, receivers = [] } of told) {
    for (const { topic, consumer, waiting, holding, seenAt = now } of receivers) {
      const name = `${topic} ${consumer}`;
      const known = seen.get(name);
      const sum = {
        topic,
        consumer,
        waiting: waiting + (known?.waiting ?? 0),
        holding: holding + (known?.holding ?? 0),
        seenAt: Math.max(seenAt, known?.seenAt ?? 0),
        sessions: [...(known?.sessions ?? []), session],
      };
      seen.set(name, { ...sum, state: stateOf(sum, now) });
    }
  }
  return [...seen.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

function stateOf({ waiting, holding, seenAt }: Required<ReportedReceiver>, now: number): ReceiverState {
  if (holding > 0) return 'busy';
  return waiting > 0 || now - seenAt < IDLE_FOR ? 'idle' : 'gone';
}
