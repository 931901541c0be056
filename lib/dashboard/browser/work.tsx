import type { JSX } from 'preact';
import type { WorkMinute } from '../../admin/fleet.js';
import { pathOf, useLook } from './api.js';
import { Chart } from './charts.js';
import type { Json } from './json.js';
import { Card, Empty, Shown } from './parts.js';
import { hrefWith } from './router.js';
import { text } from './texts/text.js';

/** Throughput and lateness of a topic: in the last minutes, or over days if that is kept. */
export function Work({
  topic,
  query,
  minutes,
}: {
  topic: string;
  query: URLSearchParams;
  minutes: readonly Json<WorkMinute>[];
}): JSX.Element {
  const t = text();
  const isHistory = query.get('work') === 'history';
  return (
    <>
      <div class="segments" role="group" aria-label={t.work.title}>
        <a href={hrefWith({ work: undefined })} aria-current={isHistory ? undefined : 'true'}>
          {t.work.recent}
        </a>
        <a href={hrefWith({ work: 'history' })} aria-current={isHistory ? 'true' : undefined}>
          {t.work.history}
        </a>
      </div>
      {isHistory ? <History topic={topic} /> : <Charts title={t.work.throughput} spans={minutes} isRate />}
    </>
  );
}

function History({ topic }: { topic: string }): JSX.Element {
  const look = useLook<{ spans: readonly WorkMinute[] }>(pathOf('api/history', { topic }));
  return (
    <Shown look={look}>
      {({ spans }) =>
        spans.length === 0 ? <Empty>{text().work.none}</Empty> : <Charts title={text().work.counts} spans={spans} />
      }
    </Shown>
  );
}

function Charts({
  title,
  spans,
  isRate = false,
}: {
  title: string;
  spans: readonly Json<WorkMinute>[];
  /** Whether values are per second; otherwise they are totals of a span. */
  isRate?: boolean;
}): JSX.Element {
  const t = text();
  // A span that has just begun says little about a rate.
  const said = isRate ? spans.filter(({ seconds }) => seconds >= 5) : spans;
  const times = said.map(({ at }) => Date.parse(at));
  const values = (value: (span: Json<WorkMinute>) => number): number[] =>
    said.map((span) => value(span) / (isRate ? span.seconds : 1));
  return (
    <div class="columns">
      <Card title={title}>
        <Chart
          label={title}
          times={times}
          lines={[
            { name: t.work.delivered, colour: 'accent', values: values(({ delivered }) => delivered) },
            { name: t.work.failed, colour: 'bad', values: values(({ retried, dead }) => retried + dead) },
          ]}
        />
      </Card>
      <Card title={t.work.lateness}>
        <Chart
          label={t.work.lateness}
          times={times}
          areTimes
          lines={[
            { name: 'p50', colour: 'good', values: said.map(({ lateness }) => lateness?.p50 ?? null) },
            { name: 'p99', colour: 'warning', values: said.map(({ lateness }) => lateness?.p99 ?? null) },
          ]}
        />
      </Card>
    </div>
  );
}
