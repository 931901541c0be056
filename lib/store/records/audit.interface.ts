/** Record of an operator's action. */
export interface AuditRecord {
  /** Name of the record, so that a repeat of the call adds no second one. */
  readonly id: string;
  /** JSON. */
  readonly text: string;
}

export interface AuditQuery {
  /** The page has records before this place; without one, it begins with the latest. */
  readonly before?: string | undefined;
  /** Most records, 1 to `MAX_BATCH`. */
  readonly limit: number;
}

/** Format of a place in the log. */
export const AUDIT_PLACE = /^\d{1,15}-\d{1,15}$/;

export interface AuditPage {
  /** The latest first. */
  readonly records: readonly {
    readonly place: string;
    /** Time at which it was written, on the broker's clock; epoch milliseconds. */
    readonly at: number;
    readonly text: string;
  }[];
  /** Place before which the next page comes; `undefined` if this was the last. */
  readonly next: string | undefined;
}
