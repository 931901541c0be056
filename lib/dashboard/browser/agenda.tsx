import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Agenda as AgendaAnswer } from '../../admin/agenda.js';
import { pathOf, useLook } from './api.js';
import { Chart } from './charts.js';
import { dateTime, number } from './format.js';
import { Card, Shown, Table } from './parts.js';
import { text } from './texts/text.js';

const SPANS = { minute: 60_000, hour: 3_600_000, day: 86_400_000, week: 604_800_000, month: 2_592_000_000 } as const;

type Span = keyof typeof SPANS;

const NAMES = Object.keys(SPANS) as Span[];
/** The shortest part that is worth a chart, in milliseconds. */
const SHORTEST = 1000;

/** When the messages fall due, from the next minute to the next month, and any part of that. */
export function Agenda({ topic }: { topic: string }): JSX.Element {
  const t = text();
  const [span, setSpan] = useState<Span>('hour');
  const [part, setPart] = useState<{ from: number; to: number }>();
  // The server knows when a span begins, by the clock that decides what is due.
  const range = part ? { from: Math.floor(part.from), to: Math.ceil(part.to) } : { span: SPANS[span] };
  const look = useLook<AgendaAnswer>(pathOf('api/agenda', { topic, ...range }));
  const choose = (one: Span): void => {
    setPart(undefined);
    setSpan(one);
  };
  const zoom = (from: number, to: number): void => setPart({ from, to: Math.max(to, from + SHORTEST) });
  return (
    <Card
      title={t.topic.agenda}
      aside={
        <div class="segments" role="group" aria-label={t.topic.agenda}>
          {NAMES.map((one) => (
            <button key={one} type="button" aria-pressed={!part && one === span} onClick={() => choose(one)}>
              {t.topic.ranges[one]}
            </button>
          ))}
          {part && (
            <button type="button" onClick={() => setPart(undefined)}>
              {t.topic.zoomOut}
            </button>
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
