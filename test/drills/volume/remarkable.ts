import type { ProcessRecord } from '../../fleet/faults/history/records.js';
import { type CompactRecord, readCompact } from './compact-records.js';

/** Processes share Redis's machine and its clock, which is read in whole milliseconds. */
const CLOCK_GRAIN = 1;

/** What can be said of all messages, and the records of those of which there is more to say. */
export interface Remarkable {
  readonly confirmed: number;
  readonly deliveries: number;
  /** Of the messages that were not confirmed, handled once, in time, and acked. */
  readonly records: readonly ProcessRecord[];
}

/**
 * Sorts out what the checker of histories has to look at. A message that was confirmed, began once, not early, ended well
 * and was acked breaks no promise: it was neither lost nor handled twice.
 *
 * @param files of the processes, by their names
 * @param count how many messages were published at most
 */
export function findRemarkable(files: ReadonlyMap<string, string>, count: number): Remarkable {
  const counts = { confirmed: new Uint8Array(count), started: new Uint8Array(count), acked: new Uint8Array(count) };
  const isRemarkable = new Uint8Array(count);
  let confirmed = 0;
  let deliveries = 0;
  for (const path of files.values()) {
    for (const record of readCompact(path)) {
      const { kind, number, at, dueAt } = record;
      if (kind === 'confirmed' || kind === 'started' || kind === 'acked')
        counts[kind][number] = (counts[kind][number] ?? 0) + 1;
      else if (kind !== 'finished') isRemarkable[number] = 1;
      if (kind === 'confirmed') confirmed++;
      if (kind === 'started') deliveries++;
      if (kind === 'started' && dueAt - at > CLOCK_GRAIN) isRemarkable[number] = 1;
    }
  }
  for (let number = 0; number < count; number++) {
    const { confirmed: published, started, acked } = counts;
    if (published[number] !== 1 || started[number] !== 1 || acked[number] !== 1) isRemarkable[number] = 1;
  }
  const records = [...files].flatMap(([process, path]) =>
    [...onlyOf(readCompact(path), isRemarkable)].map((record) => toProcessRecord(record, process)),
  );
  return { confirmed, deliveries, records: records.toSorted((a, b) => a.at - b.at) };
}

function* onlyOf(records: Iterable<CompactRecord>, isRemarkable: Uint8Array): Generator<CompactRecord> {
  for (const record of records) if (isRemarkable[record.number] === 1) yield record;
}

function toProcessRecord({ kind, number, attempt, at, dueAt }: CompactRecord, process: string): ProcessRecord {
  const id = String(number);
  const common = { at, process, id };
  switch (kind) {
    case 'confirmed':
      return { ...common, kind: 'publish-confirmed', dueAt };
    case 'started':
      return { ...common, kind: 'delivery-started', attempt, dueAt, partition: 0 };
    case 'finished':
    case 'failed':
      return { ...common, kind: 'delivery-finished', attempt, ok: kind === 'finished' };
    case 'aborted':
      return { ...common, kind: 'aborted', attempt, code: '' };
    default:
      return { ...common, kind: 'settled', outcome: kind, attempt };
  }
}
