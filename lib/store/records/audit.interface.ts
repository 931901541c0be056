/** What an operator did, as it is written down. */
export interface AuditRecord {
  /** Names it, so that a repeat of the call is not a second one. */
  readonly id: string;
  /** JSON. */
  readonly text: string;
}

export interface AuditQuery {
  /** The page has what came before this place; without one it begins with the latest. */
  readonly before?: string | undefined;
  /** Most records, 1 to `MAX_BATCH`. */
  readonly limit: number;
}

/** What a place in the log looks like. */
export const AUDIT_PLACE = /^\d{1,15}-\d{1,15}$/;

export interface AuditPage {
  /** The latest first. */
  readonly records: readonly {
    readonly place: string;
    /** When it was written down, on the broker's clock; epoch milliseconds. */
    readonly at: number;
    readonly text: string;
  }[];
  /** What the next page comes before; `undefined` if this was the last. */
  readonly next: string | undefined;
}
