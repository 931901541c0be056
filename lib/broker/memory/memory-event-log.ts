import type { EventEntry, EventLog, EventReader } from '../event-log.interface.js';

/** Hands entries on and keeps none: nobody can lose the connection to it. */
export class MemoryEventLog implements EventLog {
  readonly #readers = new Set<EventReader>();

  async append(entry: EventEntry): Promise<void> {
    for (const reader of this.#readers) queueMicrotask(() => this.#tell(reader, entry));
  }

  follow(reader: EventReader): () => Promise<void> {
    this.#readers.add(reader);
    return async () => {
      this.#readers.delete(reader);
    };
  }

  #tell(reader: EventReader, entry: EventEntry): void {
    if (this.#readers.has(reader)) reader.onEntry({ ...entry, missed: 0 });
  }
}
