/** Limits on how long, and how many, dead letters or finished messages of a partition are kept. */
export interface RetentionLimits {
  /** Milliseconds. @defaultValue no limit */
  readonly maxAge?: number | undefined;
  /** @defaultValue no limit */
  readonly maxCount?: number | undefined;
}

/** Encodes limits for `lua/modules/finished.lua`; empty if nothing is kept. */
export function encodeRetention(limits: RetentionLimits | undefined): string {
  return limits ? `${Math.round(limits.maxAge ?? -1)} ${limits.maxCount ?? -1}` : '';
}
