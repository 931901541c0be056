import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LastRun } from '../../../schedules/last-runs.js';
import type { ShownSchedule } from '../../redaction.js';
import type { ScheduleLine, ScheduleList } from '../../schedule-list.js';
import { act, pathOf, useLook } from '../api.js';
import { ActionButton, Dialog } from '../controls.js';
import { wordsOfCron } from '../cron-words.js';
import { compact, dateTime, duration, now } from '../format.js';
import type { Json } from '../json.js';
import { Badge, Card, Code, Count, Crumbs, Empty, Figure, Name, Shown, Time } from '../parts.js';
import { useKept } from '../history-steps.js';
import { go, href, messageHref } from '../router.js';
import { may, seesPayloads } from '../session.js';
import { type Column, Table } from '../tables.js';
import { text } from '../texts/text.js';

type Schedule = Json<ShownSchedule>;

/** Schedules shown at first; each click adds four times as many. */
const PAGE = 50;

export function SchedulesPage(): JSX.Element {
  const t = text();
  const [count, setCount] = useKept('schedules', PAGE);
  const look = useLook<ScheduleList>(pathOf('api/schedules', { count }));
  return (
    <>
      <h1>{t.nav.schedules}</h1>
      <Shown look={look}>
        {({ schedules, total, failed }) => (
          <>
            {failed.map((one) => (
              <div key={one.topic} class="notice notice-bad">
                {t.schedules.failed(one.topic, one.ids.join(', '))} {one.message}
              </div>
            ))}
            {(total > 0 || failed.length === 0) && (
              <Card>
                {total === 0 ? (
                  <Empty>{t.schedules.none}</Empty>
                ) : (
                  <Table label={t.nav.schedules} rows={schedules} keyOf={({ id }) => id} columns={columns()} />
                )}
                {total > schedules.length && (
                  <footer class="card-foot">
                    <span class="muted">{t.schedules.shown(schedules.length, total)}</span>
                    <button type="button" class="button button-plain" onClick={() => setCount(count + 4 * PAGE)}>
                      {t.overview.showAll}
                    </button>
                  </footer>
                )}
              </Card>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

function columns(): Column<Json<ScheduleLine>>[] {
  const t = text();
  return [
    {
      name: t.schedules.id,
      cell: (schedule) => (
        <>
          <a class="strong" href={href(['schedules', schedule.id])}>
            <Name of={schedule.id} />
          </a>{' '}
          <State schedule={schedule} />
        </>
      ),
    },
    {
      name: t.overview.topic,
      isSecondary: true,
      cell: ({ topic }) => <a href={href(['topics', topic])}>{topic}</a>,
    },
    { name: t.schedules.rule, cell: (schedule) => <Rule schedule={schedule} /> },
    { name: t.schedules.next, cell: (schedule) => <Next schedule={schedule} /> },
    { name: t.schedules.last, isSecondary: true, cell: ({ last }) => <Time at={last} /> },
    {
      name: t.schedules.outcome,
      isSecondary: true,
      cell: ({ topic, lastRun }) => <Outcome topic={topic} run={lastRun} />,
    },
    {
      name: t.schedules.missed,
      isNumber: true,
      isSecondary: true,
      cell: ({ missed }) => <Count of={missed} />,
    },
  ];
}

/** Time after which an occurrence that has not come is late, in milliseconds. */
const LATE = 10_000;

/** Time of the next occurrence, or a note that it should have occurred by now. */
function Next({ schedule: { next } }: { schedule: Schedule }): JSX.Element {
  const late = next === undefined ? 0 : now() - Date.parse(next);
  return late > LATE ? <span class="bad">{text().schedules.late(duration(late))}</span> : <Time at={next} />;
}

function State({ schedule: { paused, next } }: { schedule: Schedule }): JSX.Element | null {
  const t = text();
  if (paused) return <Badge tone="warning">{t.schedules.paused}</Badge>;
  return next === undefined ? <Badge>{t.schedules.ended}</Badge> : null;
}

/** The rule in words, with its source. */
function Rule({ schedule: { every, cron, timeZone } }: { schedule: Schedule }): JSX.Element {
  const t = text();
  if (every !== undefined) return <>{t.schedules.every(duration(every))}</>;
  const words = cron === undefined ? undefined : wordsOfCron(cron);
  return (
    <>
      {words} <span class="muted">{timeZone ?? 'UTC'}</span> <code class="nowrap">{cron}</code>
    </>
  );
}

export function SchedulePage({ id }: { id: string }): JSX.Element {
  const t = text();
  const look = useLook<{ schedule: ShownSchedule; next: Date[]; lastRun?: LastRun }>(pathOf('api/schedule', { id }));
  return (
    <>
      <Crumbs of={[[t.nav.schedules, href(['schedules'])]]} />
      <Shown look={look}>
        {({ schedule, next, lastRun }) => (
          <>
            <div class="page-head">
              <div>
                <h1 class="wrap">
                  <Name of={schedule.id} /> <State schedule={schedule} />
                </h1>
                <p>
                  <Rule schedule={schedule} /> · <a href={href(['topics', schedule.topic])}>{schedule.topic}</a>
                  {schedule.declared && ` · ${t.schedules.declared}`}
                </p>
              </div>
              <ScheduleActions schedule={schedule} />
            </div>
            <dl class="figures">
              <Figure name={t.schedules.next}>
                <Next schedule={schedule} />
              </Figure>
              <Figure name={t.schedules.last}>
                <Time at={schedule.last} />
              </Figure>
              {schedule.last !== undefined && (
                <Figure name={t.schedules.outcome}>
                  <span class="small-figure">
                    <Outcome topic={schedule.topic} run={lastRun} />
                  </span>
                </Figure>
              )}
              <Figure name={t.schedules.missed}>{compact(schedule.missed)}</Figure>
              <Figure name={t.schedules.catchUp}>
                <span class="small-figure">{t.schedules.catchUps[schedule.catchUp] ?? schedule.catchUp}</span>
              </Figure>
              <Figure name={t.schedules.overlap}>
                <span class="small-figure">{t.schedules.overlaps[schedule.overlap] ?? schedule.overlap}</span>
              </Figure>
            </dl>
            <div class="columns">
              <Card title={t.schedules.nextRuns}>
                {next.length === 0 ? (
                  <Empty>{t.state.nothing}</Empty>
                ) : (
                  <ol class="plain-list">
                    {next.map((at) => (
                      <li key={at}>
                        {dateTime(at)}{' '}
                        <span class="muted">
                          <Time at={at} />
                        </span>
                      </li>
                    ))}
                  </ol>
                )}
              </Card>
              <Card title={t.message.payload}>
                {schedule.redacted && <p class="hint">{t.message.redacted}</p>}
                {seesPayloads() ? <Code value={schedule.payload ?? null} /> : <p class="hint">{t.message.hidden}</p>}
              </Card>
            </div>
          </>
        )}
      </Shown>
    </>
  );
}

/** Outcome of the message of an occurrence, in words. */
function Outcome({ topic, run }: { topic: string; run: Json<LastRun> | undefined }): JSX.Element {
  const t = text();
  if (!run) return <span class="zero">{t.state.none}</span>;
  const { outcome, failure } = run;
  const words = t.schedules.outcomes[outcome];
  return (
    <span class={outcome === 'dead' || outcome === 'failed' ? 'bad' : ''}>
      {outcome === 'unknown' ? words : <a href={messageHref(topic, run)}>{words}</a>}
      {failure !== undefined && ` · ${failure}`}
    </span>
  );
}

function ScheduleActions({ schedule: { id, paused, declared } }: { schedule: Schedule }): JSX.Element {
  const t = text();
  const [told, setTold] = useState('');
  const [isRemoving, setRemoving] = useState(false);
  const toggle = paused ? 'resume' : 'pause';
  return (
    <div class="actions">
      {may('runScheduleNow') && (
        <ActionButton
          kind="primary"
          run={async () => {
            const published = await act<{ id?: string }>('api/schedules/run-now', { id });
            setTold(t.schedules.ran(published.id ?? ''));
          }}
        >
          {t.actions.runNow}
        </ActionButton>
      )}
      {may(paused ? 'resumeSchedule' : 'pauseSchedule') && (
        <ActionButton
          run={async () => {
            await act(`api/schedules/${toggle}`, { id });
          }}
        >
          {t.actions[toggle]}
        </ActionButton>
      )}
      {may('removeSchedule') && (
        <button type="button" class="button button-danger" onClick={() => setRemoving(true)}>
          {t.actions.remove}
        </button>
      )}
      {isRemoving && (
        <Dialog title={`${t.actions.remove} · ${id}`} close={() => setRemoving(false)}>
          <p>{t.schedules.removeWhat(id)}</p>
          {declared && <p>{t.schedules.removeDeclared}</p>}
          <div class="dialog-actions">
            <ActionButton
              kind="danger"
              run={async () => {
                // The page of a removed schedule has nothing to show.
                go(['schedules']);
                await act('api/schedules/remove', { id });
              }}
            >
              {t.actions.remove}
            </ActionButton>
          </div>
        </Dialog>
      )}
      <span role="status" class="told">
        {told}
      </span>
    </div>
  );
}
