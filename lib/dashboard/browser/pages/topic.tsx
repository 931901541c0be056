import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WorkMinute } from '../../../admin/fleet.js';
import type { PartitionStatus, TopicStats } from '../../../admin/topic-stats.js';
import { act, useLook } from '../api.js';
import { Agenda } from '../agenda.js';
import { BulkDialog } from '../bulk-dialog.js';
import { ActionButton, AskButtons, Dialog } from '../controls.js';
import { compact, duration, now, processName, shortDateTime } from '../format.js';
import type { Json } from '../json.js';
import { MessageList } from '../message-list.js';
import { Badge, Card, Count, Crumbs, Figure, Shown, Time } from '../parts.js';
import { href } from '../router.js';
import { soughtIn } from '../search.js';
import { Table } from '../tables.js';
import { text } from '../texts/text.js';
import { Work } from '../work.js';

type TopicLook = TopicStats & { readonly handlers: readonly string[]; readonly minutes: readonly WorkMinute[] };

export function TopicPage({ topic, query }: { topic: string; query: URLSearchParams }): JSX.Element {
  const t = text();
  const look = useLook<TopicLook>(`api/topic?${new URLSearchParams({ topic }).toString()}`);
  const isSearch = soughtIn(query) !== undefined;
  return (
    <>
      <Crumbs of={[[t.nav.topics, href([])]]} />
      <Shown look={look}>
        {(stats) => (
          <>
            <Head stats={stats} />
            {/* Users who search have not come for the charts. */}
            {isSearch && <MessageList topic={topic} query={query} stats={stats} />}
            <Agenda topic={topic} query={query} />
            <Work topic={topic} query={query} minutes={stats.minutes} />
            {!isSearch && <MessageList topic={topic} query={query} stats={stats} />}
            <Partitions partitions={stats.partitions} />
          </>
        )}
      </Shown>
    </>
  );
}

function Head({ stats }: { stats: Json<TopicLook> }): JSX.Element {
  const t = text();
  const { topic, handlers, oldestDueAt, oldestBlockedDueAt } = stats;
  // In ISO 8601, the earlier of two times also comes first as a string.
  const [oldest] = [oldestDueAt, oldestBlockedDueAt].filter((at) => at !== undefined).toSorted();
  const isUnhandled = handlers.length === 0;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>
            {topic} <State stats={stats} />
          </h1>
          <p class={isUnhandled ? 'bad' : 'muted'}>{t.topic.handlers(handlers.length)}</p>
          {isHeld(stats) && <p class="muted">{t.topic.heldUntil(shortDateTime(stats.heldUntil))}</p>}
        </div>
        <TopicActions stats={stats} />
      </div>
      <dl class="figures">
        <Figure name={t.overview.scheduled}>{compact(stats.scheduled)}</Figure>
        <Figure name={t.overview.due}>{compact(stats.due)}</Figure>
        <Figure name={t.overview.oldest}>
          {oldest === undefined ? t.state.none : duration(Math.max(0, now() - Date.parse(oldest)))}
        </Figure>
        <Figure name={t.overview.inFlight}>{compact(stats.inFlight)}</Figure>
        <Figure name={t.topic.blocked}>
          {compact(stats.blocked)}{' '}
          {stats.blockedDue > 0 && <span class="figure-note">{t.topic.overdue(stats.blockedDue)}</span>}
        </Figure>
        <Figure name={t.overview.dead} {...(stats.dead > 0 && { tone: 'bad' as const })}>
          <a href={href(['topics', topic, 'dead'])}>{compact(stats.dead)}</a>
        </Figure>
      </dl>
    </>
  );
}

/** Whether nothing is handed out for a while, by the current time rather than that of the look. */
function isHeld(stats: Json<TopicLook>): stats is Json<TopicLook> & { heldUntil: string } {
  return stats.heldUntil !== undefined && Date.parse(stats.heldUntil) > now();
}

function State({ stats }: { stats: Json<TopicLook> }): JSX.Element {
  const t = text();
  if (stats.paused) return <Badge tone="warning">{t.topic.paused}</Badge>;
  return isHeld(stats) ? <Badge tone="warning">{t.topic.held}</Badge> : <Badge tone="good">{t.topic.active}</Badge>;
}

function TopicActions({ stats }: { stats: Json<TopicLook> }): JSX.Element {
  const t = text();
  const { topic, paused } = stats;
  const [asked, setAsked] = useState<'pause' | 'hold' | 'resume' | 'drain' | 'purge'>();
  const close = (): void => setAsked(undefined);
  const toggle = paused ? 'resume' : 'pause';
  const others = paused ? [] : isHeld(stats) ? (['resume', 'hold'] as const) : (['hold'] as const);
  return (
    <div class="actions">
      <AskButtons
        actions={[toggle, ...others, 'drain', 'purge'] as const}
        names={t.actions}
        ask={setAsked}
        // The button stays, and keeps the focus, when it turns into its opposite.
        keyOf={(action) => (action === toggle ? 'toggle' : action)}
      />
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
      {asked === 'hold' && <HoldDialog topic={topic} close={close} />}
      {(asked === 'drain' || asked === 'purge') && <BulkDialog action={asked} topic={topic} body={{}} close={close} />}
    </div>
  );
}

const MINUTE = 60_000;

/** Delays that can be chosen, in milliseconds. */
const DELAYS = [5, 15, 60, 240, 1440].map((minutes) => minutes * MINUTE);

/** Asks how long to hold a topic, and holds it. */
function HoldDialog({ topic, close }: { topic: string; close: () => void }): JSX.Element {
  const t = text();
  const [chosen, setChosen] = useState(15 * MINUTE);
  const hold = async (): Promise<void> => {
    await act('api/hold', { topic, delay: `${chosen}ms` });
    close();
  };
  return (
    <Dialog title={`${t.actions.hold} · ${topic}`} close={close}>
      <p>{t.topic.holdWhat(topic)}</p>
      <div class="segments" role="group" aria-label={t.topic.holdFor}>
        {DELAYS.map((delay) => (
          <button key={delay} type="button" aria-pressed={delay === chosen} onClick={() => setChosen(delay)}>
            {duration(delay)}
          </button>
        ))}
      </div>
      <div class="dialog-actions">
        <ActionButton kind="primary" run={hold}>
          {t.actions.hold}
        </ActionButton>
      </div>
    </Dialog>
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
          { name: t.overview.scheduled, isNumber: true, cell: ({ scheduled }) => <Count of={scheduled} /> },
          { name: t.overview.due, isNumber: true, isSecondary: true, cell: ({ due }) => <Count of={due} /> },
          { name: t.topic.blocked, isNumber: true, isSecondary: true, cell: ({ blocked }) => <Count of={blocked} /> },
          {
            name: t.overview.inFlight,
            isNumber: true,
            isSecondary: true,
            cell: ({ inFlight }) => <Count of={inFlight} />,
          },
          { name: t.overview.dead, isNumber: true, cell: ({ dead }) => <Count of={dead} /> },
          { name: t.topic.nextDue, isSecondary: true, cell: ({ nextDueAt }) => <Time at={nextDueAt} /> },
        ]}
      />
    </Card>
  );
}
