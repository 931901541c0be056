import { type HistorySettings, MINUTE, type SpanOfWork, type TopicWork } from '../broker.interface.js';

/** How the history joins buckets of lateness. */
const JOINED = 4;
const LOWEST = 8;
const HIGHEST = 96;
const BEYOND = 164;

/** The history of a topic with what is new of a minute; see the script `report-work`. */
export function addedToHistory(
  history: readonly SpanOfWork[],
  { topic, ...told }: TopicWork,
  known: TopicWork | undefined,
  reported: number,
  { span, keep }: HistorySettings,
): SpanOfWork[] {
  const minute = Math.floor(reported / span) * span;
  const stored = history.find((one) => one.minute === minute && one.span === span);
  const added = (name: 'delivered' | 'acked' | 'retried' | 'dead'): number =>
    (stored?.[name] ?? 0) + Math.max(0, told[name] - (known?.[name] ?? 0));
  const counts = new Map<number, number>();
  addLateness(counts, stored, 1);
  addLateness(counts, told, 1);
  addLateness(counts, known, -1);
  const sum: SpanOfWork = {
    topic,
    minute,
    span,
    delivered: added('delivered'),
    acked: added('acked'),
    retried: added('retried'),
    dead: added('dead'),
    maxLateness: Math.max(stored?.maxLateness ?? 0, told.maxLateness),
    lateness: [...counts]
      .filter(([, count]) => count > 0)
      .toSorted(([a], [b]) => a - b)
      .flat(),
  };
  const isKept = (one: SpanOfWork): boolean => one !== stored && (reported - one.minute - one.span) * MINUTE < keep;
  return [...history.filter(isKept), sum];
}

function addLateness(counts: Map<number, number>, work: Pick<TopicWork, 'lateness'> | undefined, sign: 1 | -1): void {
  const { lateness = [] } = work ?? {};
  for (let i = 0; i + 1 < lateness.length; i += 2) {
    const joined = Math.max(LOWEST, Math.ceil((lateness[i] as number) / JOINED) * JOINED);
    const bucket = joined > HIGHEST ? BEYOND : joined;
    counts.set(bucket, (counts.get(bucket) ?? 0) + sign * (lateness[i + 1] as number));
  }
}
