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
  /** What its handler does in place of having done it. */
  readonly trouble?: Trouble;
  /** Grows when somebody replaces the payload. */
  readonly edition?: number;
}

export type Trouble =
  /**
   * Never ends, and ignores its signal; ends its process; gives up for good; fails, and all others of its batch with it, the first time; cannot
   * be read.
   */
  | { readonly kind: 'sticks' | 'kills' | 'gives up' | 'spoils' }
  /** Meets a limit of somebody else, until some time by the clock of Redis. */
  | {
      readonly kind: 'limited';
      readonly by: 'message' | 'key' | 'topic';
      readonly delay: number;
      readonly until: number;
    };
