/** What a message says about itself. */
export interface Payload {
  readonly id: string;
  readonly key: string;
  /** From 0 on, among those of its key. */
  readonly index: number;
  /** How long it is handled, in milliseconds; how often that fails; and whether it goes on when it is told to end. */
  readonly takes: number;
  readonly throws: number;
  readonly hangs: boolean;
  /** When it may be handled, by the clock of Redis. */
  readonly earliest: number;
  /** Grows when somebody replaces the payload. */
  readonly edition?: number;
}
