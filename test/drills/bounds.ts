import type { Finding } from '../fleet/faults/scene.js';
import type { Figures } from './figures.js';

/** How soon after the last disturbance everything has to be handled, unless a drill says otherwise; milliseconds. */
export const SETTLED_WITHIN = 10_000;

/** What a history has to keep beside what the library promises. Milliseconds. */
export interface Bounds {
  /** How soon after the last disturbance everything has to be handled. @defaultValue 10 s */
  readonly settledWithin?: number;
  readonly publishingStops?: number;
  readonly handlingStops?: number;
  readonly latest?: number;
  /** How many messages that were confirmed Redis may have lost. */
  readonly lost?: number;
  /** Whether every publish has to be confirmed. */
  readonly confirmsAll?: boolean;
}

/** The bounds that these figures exceed. */
export function beyond(bounds: Bounds, figures: Figures): Finding[] {
  const { publishingStopped, handlingStopped, rejected, lateness, excused } = figures;
  const findings: Finding[] = [];
  const limit = (rule: string, value: number, most: number | undefined, unit = 'ms'): void => {
    if (most !== undefined && value > most)
      findings.push({ rule, detail: `${value.toFixed(0)} ${unit}, ${most} ${unit} are allowed` });
  };
  limit('publishing-stopped', publishingStopped, bounds.publishingStops);
  limit('handling-stopped', handlingStopped, bounds.handlingStops);
  limit('late', lateness.max, bounds.latest);
  limit('lost-by-redis', excused.get('lost') ?? 0, bounds.lost, 'messages');
  if (bounds.confirmsAll && rejected > 0) findings.push({ rule: 'rejected', detail: `${rejected} publishes` });
  return findings;
}
