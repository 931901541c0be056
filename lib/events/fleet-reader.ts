import type { EventLog, ReadEntry } from '../store/records/event-log.interface.js';
import { SerializationError } from '../errors/publishing.errors.js';
import type { FleetEvent } from './fleet-event.js';
import { decodeEntry } from './fleet-codec.js';

/** Most processes whose latest entry is remembered; more than a fleet has, not counting ended ones. */
const MAX_PROCESSES = 1000;

/** Reads the events of the processes of the fleet. */
export class FleetReader {
  readonly #log: EventLog;
  readonly #onError: (error: Error) => void;

  /** @param onError called with each error; reading goes on by itself */
  constructor(log: EventLog, onError: (error: Error) => void) {
    this.#log = log;
    this.#onError = onError;
  }

  /**
   * @param next called with each event from now on, and with each gap between them
   * @returns a function that ends it
   */
  follow(next: (event: FleetEvent) => void): () => void {
    const latest = new Map<string, number>();
    const unsubscribe = this.#log.follow({
      onEntry: (entry) => {
        for (const event of this.#eventsOf(entry, latest)) next(event);
      },
      onError: this.#onError,
    });
    return () => void unsubscribe();
  }

  #eventsOf(entry: ReadEntry, latest: Map<string, number>): FleetEvent[] {
    const { process, sequence, missed, dropped, count, events } = entry;
    const told: FleetEvent[] = [];
    if (missed > 0) told.push({ kind: 'gap', missed, process: undefined });
    // The entry was appended twice, because the reply to the first append was lost.
    if (sequence <= (latest.get(process) ?? 0)) return told;
    remember(latest, process, sequence);
    if (dropped > 0) told.push({ kind: 'gap', missed: dropped, process });
    try {
      return told.concat(decodeEntry(events, process));
    } catch (error) {
      this.#onError(new SerializationError(`The events of process '${process}' cannot be read.`, { cause: error }));
      return told.concat({ kind: 'gap', missed: count, process });
    }
  }
}

function remember(latest: Map<string, number>, process: string, sequence: number): void {
  latest.delete(process);
  latest.set(process, sequence);
  const [oldest] = latest.keys();
  if (latest.size > MAX_PROCESSES && oldest !== undefined) latest.delete(oldest);
}
