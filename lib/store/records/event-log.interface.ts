/** What a process did in a turn of its event loop. */
export interface EventEntry {
  readonly process: string;
  /** Numbers the entries of a process, so that readers recognize a repeated append. */
  readonly sequence: number;
  /** Number of the events. */
  readonly count: number;
  /** Events of the process that were dropped before these. */
  readonly dropped: number;
  /** The events as text. */
  readonly events: string;
}

/** An entry as a reader gets it. */
export interface ReadEntry extends EventEntry {
  /** Events, of whichever process, that were removed before this reader came to them. */
  readonly missed: number;
}

export interface EventReader {
  onEntry(entry: ReadEntry): void;
  /** Reading goes on by itself. */
  onError(error: Error): void;
}

/** What the processes of a fleet tell each other about their work. It is bounded, and the work does not depend on it. */
export interface EventLog {
  /**
   * May be repeated; readers tell by the sequence.
   *
   * @param keep how many events to keep, about; older ones are removed
   * @throws BrokerUnavailableError
   */
  append(entry: EventEntry, keep: number): Promise<void>;
  /** Reads what is appended from now on, until the function it returns is called; after a lost connection from where it was. */
  follow(reader: EventReader): () => Promise<void>;
}
