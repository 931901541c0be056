/** The configuration of a traced program, as JSON in its first argument. */
export interface TracedConfig {
  readonly redisUrl: string;
  readonly prefix: string;
}

/** A span as its process exports it. */
export interface ExportedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly isParentRemote: boolean | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string; readonly id: unknown }[];
  readonly error: string | undefined;
}

/** A report of a traced program to its parent. */
export type TracedReport = { readonly kind: 'ready' } | { readonly kind: 'span'; readonly span: ExportedSpan };
