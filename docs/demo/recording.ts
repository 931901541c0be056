import type { Agenda } from '../../lib/admin/agenda.js';
import type { Json } from '../../lib/dashboard/browser/json.js';
import type { FleetEvent, FleetGap } from '../../lib/events/fleet-event.js';

export type RecordedEvent = Json<Exclude<FleetEvent, FleetGap>>;

/** What the server of a dashboard has answered, as `recording.json` has it; its times are as {@link recorded} writes them. */
export interface Recording {
  /** By the look that was asked for, with its parameters, see {@link nameOf}. */
  readonly looks: Readonly<Record<string, unknown>>;
  /** In their order; their times are those since the first one. */
  readonly events: readonly RecordedEvent[];
}

/** The look at events as they happen. */
export const LIVE = 'api/live';

/** A look as the recording names it. */
export function nameOf(look: string): string {
  return decodeURIComponent(look);
}

/** A text with the milliseconds since a start in the place of all times, also of those in ids and in sentences. */
export function recorded(text: string, start: number): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (at) => `@{${Date.parse(at) - start}}`);
}

/** The text again, with the times of another start. */
export function replayed(text: string, start: number): string {
  return text.replaceAll(/@\{(-?\d+)\}/g, (_, since) => new Date(start + Number(since)).toISOString());
}

/** The parts of an agenda have the same length, and what is in them is the sum of its topics: so that they need not be recorded. */
type PackedAgenda = Omit<Json<Agenda>, 'buckets'> & { readonly buckets: number };

export function packed(answer: unknown): unknown {
  if (!hasBuckets(answer)) return answer;
  const agenda = answer as Json<Agenda>;
  return { ...agenda, buckets: agenda.buckets.length } satisfies PackedAgenda;
}

export function unpacked(answer: unknown): unknown {
  if (!hasBuckets(answer)) return answer;
  const { buckets: length, ...agenda } = answer as PackedAgenda;
  const from = Date.parse(agenda.from);
  const at = (i: number): string => new Date(from + (i * (Date.parse(agenda.to) - from)) / length).toISOString();
  const countOf = (i: number): number => agenda.topics.reduce((sum, { counts }) => sum + (counts[i] ?? 0), 0);
  const buckets = Array.from({ length }, (_, i) => ({ from: at(i), to: at(i + 1), count: countOf(i) }));
  return { ...agenda, buckets } satisfies Json<Agenda>;
}

function hasBuckets(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'buckets' in answer;
}
