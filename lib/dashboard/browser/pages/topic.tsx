import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WorkMinute } from '../../../admin/fleet.js';
import type { PartitionStatus, TopicStats } from '../../../admin/topic-stats.js';
import { act, useLook } from '../api.js';
import { Agenda } from '../agenda.js';
import { Chart } from '../charts.js';
import { ClearDialog } from '../clear-dialog.js';
import { compact, processName, shortDateTime } from '../format.js';
import type { Json } from '../json.js';
import { MessageList } from '../message-list.js';
import { ActionButton, Badge, Card, Dialog, Figure, Shown, Table, Time } from '../parts.js';
import { href } from '../router.js';
import { mayOperate } from '../session.js';
import { text } from '../texts/text.js';

type TopicLook = TopicStats & { readonly handlers: readonly string[]; readonly minutes: readonly WorkMinute[] };

export function TopicPage({ topic, query }: { topic: string; query: URLSearchParams }): JSX.Element {
  const t = text();
  const look = useLook<TopicLook>(`api/topic?${new URLSearchParams({ topic }).toString()}`);
  return (
    <>
      <nav class="crumbs" aria-label={t.actions.back}>
        <a href={href([])}>{t.nav.topics}</a> <span aria-hidden="true">/</span>
      </nav>
      <Shown look={look}>
        {(stats) => (
          <>
            <Head stats={stats} />
            <Agenda topic={topic} />
            <Work minutes={stats.minutes} />
            <MessageList topic={topic} query={query} stats={stats} />
            <Partitions partitions={stats.partitions} />
          </>
        )}
      </Shown>
    </>
  );
}

function Head({ stats }: { stats: Json<TopicLook> }): JSX.Element {
  const t = text();
  const { topic, paused, heldUntil, handlers, oldestDueAt } = stats;
  const isUnhandled = handlers.length === 0;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>
            {topic} <Badge tone={paused ? 'warning' : 'good'}>{paused ? t.topic.paused : t.topic.active}</Badge>
          </h1>
          <p class={isUnhandled ? 'bad' : 'muted'}>{t.topic.handlers(handlers.length)}</p>
          {heldUntil !== undefined && <p class="muted">{t.topic.held(shortDateTime(heldUntil))}</p>}
        </div>
        {mayOperate() && <TopicActions stats={stats} />}
      </div>
      <dl class="figures">
        <Figure name={t.overview.scheduled}>{compact(stats.scheduled)}</Figure>
        <Figure name={t.overview.due}>{compact(stats.due)}</Figure>
        <Figure name={t.overview.oldest}>
          <Time at={oldestDueAt} />
        </Figure>
        <Figure name={t.overview.inFlight}>{compact(stats.inFlight)}</Figure>
        <Figure name={t.topic.blocked}>{compact(stats.blocked)}</Figure>
        <Figure name={t.overview.dead} {...(stats.dead > 0 && { tone: 'bad' as const })}>
          <a href={href(['topics', topic, 'dead'])}>{compact(stats.dead)}</a>
        </Figure>
      </dl>
    </>
  );
}

function TopicActions({ stats: { topic, paused } }: { stats: Json<TopicLook> }): JSX.Element {
  const t = text();
  const [asked, setAsked] = useState<'pause' | 'resume' | 'drain' | 'purge'>();
  const close = (): void => setAsked(undefined);
  const toggle = paused ? 'resume' : 'pause';
  return (
    <div class="actions">
      <button type="button" class="button button-primary" onClick={() => setAsked(toggle)}>
        {t.actions[toggle]}
      </button>
      <button type="button" class="button button-danger" onClick={() => setAsked('drain')}>
        {t.actions.drain}
      </button>
      <button type="button" class="button button-danger" onClick={() => setAsked('purge')}>
        {t.actions.purge}
      </button>
      {(asked === 'pause' || asked === 'resume') && (
        <Dialog title={`${t.actions[asked]} · ${topic}`} close={close}>
          <p>{asked === 'pause' ? t.topic.pauseWhat(topic) : t.topic.resumeWhat(topic)}</p>
          <div class="dialog-actions">
            <ActionButton
              kind="primary"
              run={async () => {
                await act(`api/${asked}`, { topic });
                close();
              }}
            >
              {t.actions[asked]}
            </ActionButton>
          </div>
        </Dialog>
      )}
      {(asked === 'drain' || asked === 'purge') && <ClearDialog action={asked} topic={topic} close={close} />}
    </div>
  );
}

function Work({ minutes }: { minutes: readonly Json<WorkMinute>[] }): JSX.Element {
  const t = text();
  // The minute under way has little to say of a rate in its first seconds.
  const said = minutes.filter(({ seconds }) => seconds >= 5);
  const times = said.map(({ at }) => Date.parse(at));
  const rate = (value: (minute: Json<WorkMinute>) => number): number[] =>
    said.map((minute) => value(minute) / minute.seconds);
  return (
    <div class="columns">
      <Card title={t.topic.throughput}>
        <Chart
          label={t.topic.throughput}
          times={times}
          lines={[
            { name: t.topic.delivered, colour: 'accent', values: rate(({ delivered }) => delivered) },
            { name: t.topic.failed, colour: 'bad', values: rate(({ retried, dead }) => retried + dead) },
          ]}
        />
      </Card>
      <Card title={t.topic.latenessChart}>
        <Chart
          label={t.topic.latenessChart}
          times={times}
          lines={[
            { name: 'p50', colour: 'good', values: said.map(({ lateness }) => lateness?.p50 ?? null) },
            { name: 'p99', colour: 'warning', values: said.map(({ lateness }) => lateness?.p99 ?? null) },
          ]}
        />
      </Card>
    </div>
  );
}

function Partitions({ partitions }: { partitions: readonly Json<PartitionStatus>[] }): JSX.Element {
  const t = text();
  return (
    <Card title={t.topic.partitions}>
      <Table
        label={t.topic.partitions}
        rows={partitions}
        keyOf={({ partition }) => String(partition)}
        columns={[
          { name: t.topic.partition, cell: ({ partition }) => partition },
          {
            name: t.topic.owner,
            cell: ({ owner }) =>
              owner === undefined ? (
                <Badge tone="bad">{t.topic.noOwner}</Badge>
              ) : (
                <span class="mono" title={owner}>
                  {processName(owner)}
                </span>
              ),
          },
          { name: t.overview.scheduled, isNumber: true, cell: ({ scheduled }) => compact(scheduled) },
          { name: t.overview.due, isNumber: true, isSecondary: true, cell: ({ due }) => compact(due) },
          { name: t.topic.blocked, isNumber: true, isSecondary: true, cell: ({ blocked }) => compact(blocked) },
          { name: t.overview.inFlight, isNumber: true, isSecondary: true, cell: ({ inFlight }) => compact(inFlight) },
          { name: t.overview.dead, isNumber: true, cell: ({ dead }) => compact(dead) },
          { name: t.topic.nextDue, isSecondary: true, cell: ({ nextDueAt }) => <Time at={nextDueAt} /> },
        ]}
      />
    </Card>
  );
}
