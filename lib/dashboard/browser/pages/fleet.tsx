import type { JSX } from 'preact';
import type { Fleet, FleetProcess } from '../../../admin/fleet.js';
import { useLook } from '../api.js';
import { Sparkline } from '../charts.js';
import { compact, duration, processName } from '../format.js';
import type { Json } from '../json.js';
import { Badge, Card, Empty, Shown, Table, Time } from '../parts.js';
import { href } from '../router.js';
import { text } from '../texts/text.js';

/** By how much a clock may be wrong before it is worth a word, in milliseconds. */
const CLOCK_TOLERANCE = 1000;

export function FleetPage(): JSX.Element {
  const t = text();
  const look = useLook<Fleet>('api/fleet');
  return (
    <>
      <h1>{t.nav.fleet}</h1>
      <Shown look={look}>
        {({ processes }) =>
          processes.length === 0 ? (
            <Empty>{t.fleet.none}</Empty>
          ) : (
            <Card>
              <Table
                label={t.nav.fleet}
                rows={processes}
                keyOf={({ process }) => process}
                columns={[
                  {
                    name: t.fleet.process,
                    cell: ({ process }) => (
                      <span class="mono strong" title={process}>
                        {processName(process)}
                      </span>
                    ),
                  },
                  { name: t.fleet.version, isSecondary: true, cell: ({ version }) => version ?? t.state.none },
                  { name: t.fleet.since, isSecondary: true, cell: ({ since }) => <Time at={since} /> },
                  { name: t.fleet.heard, isSecondary: true, cell: ({ renewedAt }) => <Time at={renewedAt} /> },
                  { name: t.fleet.busy, isNumber: true, cell: (process) => <Load process={process} /> },
                  { name: t.fleet.owns, cell: (process) => <Owned process={process} /> },
                  { name: t.fleet.last10, isSecondary: true, cell: (process) => <Work process={process} /> },
                  { name: t.fleet.clock, isSecondary: true, cell: (process) => <Clock process={process} /> },
                ]}
              />
            </Card>
          )
        }
      </Shown>
    </>
  );
}

type Process = { readonly process: Json<FleetProcess> };

function Load({ process: { busy, concurrency, waiting } }: Process): JSX.Element {
  const t = text();
  if (busy === undefined || concurrency === undefined) return <>{t.state.none}</>;
  return (
    <>
      {compact(busy)} / {compact(concurrency)}
      {waiting !== undefined && waiting > 0 && <Badge tone="warning">{t.fleet.saturated(waiting)}</Badge>}
    </>
  );
}

function Owned({ process: { topics } }: Process): JSX.Element {
  const t = text();
  return (
    <span class="owned">
      {topics.map(({ topic, partitions }) => (
        <a key={topic} href={href(['topics', topic])}>
          <Badge tone={partitions.length > 0 ? 'accent' : 'neutral'}>
            {t.fleet.partitionsOf(topic, partitions.length)}
          </Badge>
        </a>
      ))}
    </span>
  );
}

function Work({ process: { minutes } }: Process): JSX.Element {
  const t = text();
  const delivered = minutes.reduce((sum, minute) => sum + minute.delivered, 0);
  return (
    <span class="with-spark">
      <Sparkline values={minutes.map((minute) => minute.delivered)} label={t.fleet.last10} />
      {compact(delivered)}
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
