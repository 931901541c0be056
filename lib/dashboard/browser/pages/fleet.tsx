import type { JSX } from 'preact';
import type { Fleet, FleetProcess, FleetReceiver } from '../../../admin/fleet.js';
import { useLook } from '../api.js';
import { Sparkbars } from '../charts.js';
import { compact, duration, processName } from '../format.js';
import type { Json } from '../json.js';
import { Badge, Card, Empty, Shown, Time } from '../parts.js';
import { href } from '../router.js';
import { Table } from '../tables.js';
import { text } from '../texts/text.js';

/** Fraction of busy places from which a process counts as full. */
const SATURATED = 0.8;

/** Most topics of a process that are shown at once. */
const MOST_TOPICS = 6;

/** Clock error below which nothing is said, in milliseconds. */
const CLOCK_TOLERANCE = 1000;

export function FleetPage(): JSX.Element {
  const t = text();
  const look = useLook<Fleet>('api/fleet');
  return (
    <>
      <h1>{t.nav.fleet}</h1>
      <Shown look={look}>
        {({ processes, receivers }) => (
          <>
            <Processes processes={processes} />
            {receivers.length > 0 && <Receivers receivers={receivers} />}
          </>
        )}
      </Shown>
    </>
  );
}

function Processes({ processes }: { processes: readonly Json<FleetProcess>[] }): JSX.Element {
  const t = text();
  if (processes.length === 0) {
    return (
      <Card>
        <Empty>{t.fleet.none}</Empty>
      </Card>
    );
  }
  return (
    <Card>
      <Table
        label={t.nav.fleet}
        rows={processes}
        keyOf={({ process }) => process}
        columns={[
          {
            name: t.fleet.process,
            cell: ({ process, topics }) => (
              <>
                <span class="mono strong" title={process}>
                  {processName(process)}
                </span>
                <span class="narrow muted">{t.fleet.partitions(partitionsOf(topics))}</span>
              </>
            ),
          },
          { name: t.fleet.version, isSecondary: true, cell: ({ version }) => version ?? t.state.none },
          { name: t.fleet.since, isSecondary: true, cell: ({ since }) => <Time at={since} /> },
          { name: t.fleet.heard, isSecondary: true, cell: ({ renewedAt }) => <Time at={renewedAt} /> },
          { name: t.fleet.busy, cell: (process) => <Load process={process} /> },
          { name: t.fleet.owns, isSecondary: true, cell: (process) => <Owned process={process} /> },
          { name: t.fleet.last10, isSecondary: true, cell: (process) => <Work process={process} /> },
          { name: t.fleet.clock, isSecondary: true, cell: (process) => <Clock process={process} /> },
        ]}
      />
    </Card>
  );
}

const TONES = { busy: 'accent', idle: 'neutral', gone: 'warning' } as const;

function Receivers({ receivers }: { receivers: readonly Json<FleetReceiver>[] }): JSX.Element {
  const t = text();
  return (
    <Card title={t.fleet.receivers}>
      <Table
        label={t.fleet.receivers}
        rows={receivers}
        keyOf={({ topic, consumer }) => `${topic} ${consumer}`}
        columns={[
          { name: t.fleet.receiver, cell: ({ consumer }) => <span class="mono strong">{consumer}</span> },
          { name: t.fleet.receivedTopic, cell: ({ topic }) => <a href={href(['topics', topic])}>{topic}</a> },
          {
            name: t.fleet.receiverState,
            cell: ({ state }) => <Badge tone={TONES[state]}>{t.fleet.receiverStates[state]}</Badge>,
          },
          { name: t.fleet.holding, isNumber: true, cell: ({ holding }) => compact(holding) },
          {
            name: t.fleet.asked,
            isSecondary: true,
            cell: ({ waiting, seenAt }) => (waiting > 0 ? t.fleet.waits : <Time at={seenAt} />),
          },
        ]}
      />
    </Card>
  );
}

function partitionsOf(topics: Json<FleetProcess>['topics']): number {
  return topics.reduce((sum, { partitions }) => sum + partitions.length, 0);
}

type Process = { readonly process: Json<FleetProcess> };

function Load({ process: { busy, concurrency, waiting } }: Process): JSX.Element {
  const t = text();
  if (busy === undefined || concurrency === undefined) return <>{t.state.none}</>;
  return (
    <span class="load">
      <span>
        {compact(busy)} / {compact(concurrency)}
      </span>
      <meter min={0} max={concurrency} high={concurrency * SATURATED} value={busy} aria-label={t.fleet.busy} />
      {waiting !== undefined && waiting > 0 && <span class="warn">{t.fleet.saturated(waiting)}</span>}
    </span>
  );
}

/** The topics of which it owns most, and the others on request. */
function Owned({ process: { topics } }: Process): JSX.Element {
  const t = text();
  const sorted = topics.toSorted((a, b) => b.partitions.length - a.partitions.length || a.topic.localeCompare(b.topic));
  const [first, others] = [sorted.slice(0, MOST_TOPICS), sorted.slice(MOST_TOPICS)];
  return (
    <div class="owned">
      <OwnedTopics topics={first} />
      {others.length > 0 && (
        <details>
          <summary>{t.fleet.more(others.length)}</summary>
          <div class="owned">
            <OwnedTopics topics={others} />
          </div>
        </details>
      )}
    </div>
  );
}

function OwnedTopics({ topics }: Pick<Json<FleetProcess>, 'topics'>): JSX.Element {
  const t = text();
  return (
    <>
      {topics.map(({ topic, partitions }) => (
        <a key={topic} href={href(['topics', topic])}>
          <Badge tone={partitions.length > 0 ? 'accent' : 'neutral'}>
            {t.fleet.partitionsOf(topic, partitions.length)}
          </Badge>
        </a>
      ))}
    </>
  );
}

function Work({ process: { minutes } }: Process): JSX.Element {
  const t = text();
  const delivered = minutes.reduce((sum, minute) => sum + minute.delivered, 0);
  return (
    <span class="with-spark">
      <Sparkbars values={minutes.map((minute) => minute.delivered)} label={t.fleet.last10} />
      <span class="spark-value">{compact(delivered)}</span>
    </span>
  );
}

function Clock({ process: { clockOffset } }: Process): JSX.Element {
  const t = text();
  if (clockOffset === undefined) return <>{t.state.none}</>;
  const isOff = Math.abs(clockOffset) > CLOCK_TOLERANCE;
  return isOff ? (
    <Badge tone="warning">{t.fleet.clockOff(duration(Math.abs(clockOffset)))}</Badge>
  ) : (
    <>{t.fleet.clockRight}</>
  );
}
