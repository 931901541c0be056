/**
 * What failed in the background:
 *
 * - `connection`: a connection to Redis was lost, or could not be made; or a key that another program had written over was
 *   set aside
 * - `membership`: a heartbeat, taking and giving up partitions, or looking whether anybody handles a topic
 * - `claim`, `settle`, `extend`, `trim`: claiming messages, settling outcomes, renewing leases, removing dead letters
 * - `stale`: a settle came too late and changed nothing
 * - `hook`: a hook of the application threw
 * - `fleet`: sending or reading fleet-wide events
 * - `unhandled`: this process publishes to a topic that no process handles (`UnhandledTopicError`)
 * - `overrun`: a handler has run for longer than three leases, and goes on (`HandlerOverrunError`)
 *
 * @publicApi
 */
export type BackgroundErrorSource =
  | 'connection'
  | 'membership'
  | 'claim'
  | 'settle'
  | 'extend'
  | 'trim'
  | 'stale'
  | 'hook'
  | 'fleet'
  | 'unhandled'
  | 'overrun';

/**
 * An error that no call was answered with. What it is about is tried again where that makes sense, so the same outage
 * brings many of them.
 *
 * @publicApi
 */
export interface BackgroundError {
  readonly source: BackgroundErrorSource;
  /** The topic it is about, where it is about one. */
  readonly topic?: string;
  /** The partition it is about, where it is about one. */
  readonly partition?: number;
  /** What went wrong; an `Error` but for what a hook throws. */
  readonly error: unknown;
}
