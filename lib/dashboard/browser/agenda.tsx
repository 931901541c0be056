import type { JSX } from 'preact';
import type { Agenda as AgendaAnswer } from '../../admin/agenda.js';
import { pathOf, useLook } from './api.js';
import { Chart } from './charts.js';
import { dateTime, number } from './format.js';
import { Card, Shown } from './parts.js';
import { hrefWith } from './router.js';
import { Table } from './tables.js';
import { text } from './texts/text.js';

const SPANS = { minute: 60_000, hour: 3_600_000, day: 86_400_000, week: 604_800_000, month: 2_592_000_000 } as const;

type Span = keyof typeof SPANS;

const NAMES = Object.keys(SPANS) as Span[];
/** Shortest part that is worth a chart, in milliseconds. */
const SHORTEST = 1000;

/** Due times of the messages of a topic, or of all topics, from the next minute to the next month, and any part of that. */
export function Agenda({ topic, query }: { topic?: string; query: URLSearchParams }): JSX.Element {
  const t = text();
  const span = NAMES.find((one) => one === query.get('span')) ?? 'hour';
  const part = partIn(query);
  // The server knows when a span begins, by the clock that decides what is due.
  const range = part ?? { span: SPANS[span] };
  const look = useLook<AgendaAnswer>(pathOf('api/agenda', { topic, ...range }));
  const whole = { from: undefined, to: undefined };
  return (
    <Card
      title={t.topic.agenda}
      aside={
        <div class="segments" role="group" aria-label={t.topic.agenda}>
          {NAMES.map((one) => (
            <a
              key={one}
              href={hrefWith({ ...whole, span: one })}
              aria-current={!part && one === span ? 'true' : undefined}
            >
              {t.topic.ranges[one]}
            </a>
          ))}
          {part && (
            <a href={hrefWith(whole)} aria-current="true">
              {t.topic.zoomOut}
            </a>
          )}
        </div>
      }
    >
      <p class="hint">{t.topic.agendaHint}</p>
      <Shown look={look}>
        {({ buckets, overdue, later }) => (
          <>
            <Chart
              label={t.topic.agenda}
              bars
              zoom={zoom}
              times={buckets.map(({ from }) => Date.parse(from))}
              lines={[{ name: t.topic.count, colour: 'accent', values: buckets.map(({ count }) => count) }]}
            />
            <footer class="card-foot">
              <span class={overdue > 0 ? 'bad' : 'muted'}>{t.topic.overdue(overdue)}</span>
              <span class="muted">{t.topic.later(later)}</span>
            </footer>
            <details>
              <summary>{t.topic.asTable}</summary>
              <Table
                label={t.topic.agenda}
                rows={buckets.filter(({ count }) => count > 0)}
                keyOf={({ from }) => from}
                columns={[
                  { name: t.topic.bucket, cell: ({ from }) => dateTime(from) },
                  { name: t.topic.count, isNumber: true, cell: ({ count }) => number(count) },
                ]}
              />
            </details>
          </>
        )}
      </Shown>
    </Card>
  );
}

function zoom(from: number, to: number): void {
  const [first, last] = [Math.floor(from), Math.ceil(Math.max(to, from + SHORTEST))];
  location.hash = hrefWith({ from: String(first), to: String(last) });
}

/** Returns the time range that the address names. */
function partIn(query: URLSearchParams): { from: number; to: number } | undefined {
  const [from, to] = [Number(query.get('from')), Number(query.get('to'))];
  return Number.isSafeInteger(from) && Number.isSafeInteger(to) && from > 0 && to > from ? { from, to } : undefined;
}
