/** For how long, and how many, dead letters or finished messages of a partition are kept. */
export interface RetentionLimits {
  /** Milliseconds. @defaultValue no limit */
  readonly maxAge?: number | undefined;
  /** @defaultValue no limit */
  readonly maxCount?: number | undefined;
}

/** As `lua/modules/finished.lua` reads them; empty if nothing is kept. */
export function encodeRetention(limits: RetentionLimits | undefined): string {
  return limits ? `${Math.round(limits.maxAge ?? -1)} ${limits.maxCount ?? -1}` : '';
}
