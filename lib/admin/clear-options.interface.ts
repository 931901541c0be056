/**
 * How `drain()` and `purge()` remove messages.
 *
 * @publicApi
 */
export interface ClearOptions {
  /** Counts what would be removed, and removes nothing. @defaultValue false */
  dryRun?: boolean;
  /** Ends it after the step under way; what was removed by then stays removed. */
  signal?: AbortSignal | undefined;
}

/**
 * What `drain()` and `purge()` have done.
 *
 * @publicApi
 */
export interface ClearCounts {
  /** How many messages there were when their partition's turn came. */
  readonly matched: number;
  /** How many were removed. Others may have come or gone meanwhile, so it need not be {@link matched}. */
  readonly removed: number;
}
