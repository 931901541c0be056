/** Events of a process in a turn of its event loop. */
export interface EventEntry {
  readonly process: string;
  /** Number of the entry of the process, so that readers recognize a repeated append. */
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
  /** Events of any process that were removed before this reader came to them. */
  readonly missed: number;
}

export interface EventReader {
  onEntry(entry: ReadEntry): void;
  /** Called with an error; reading goes on by itself. */
  onError(error: Error): void;
}

/** Log in which the processes of a fleet tell each other about their work. It is bounded, and the work does not depend on it. */
export interface EventLog {
  /**
   * Appends an entry. Can be repeated; readers recognize that by the sequence.
   *
   * @param keep approximate number of events to keep; older ones are removed
   * @throws BrokerUnavailableError
   */
  append(entry: EventEntry, keep: number): Promise<void>;
  /** Reads entries appended from now on, until the function it returns is called; continues where it was after a lost connection. */
  follow(reader: EventReader): () => Promise<void>;
}
