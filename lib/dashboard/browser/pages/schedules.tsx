import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ShownMessage, ShownSchedule } from '../../redaction.js';
import { act, pathOf, useLook } from '../api.js';
import { ActionButton, Dialog } from '../controls.js';
import { wordsOfCron } from '../cron-words.js';
import { compact, dateTime, duration } from '../format.js';
import type { Json } from '../json.js';
import { Badge, Card, Code, Count, Crumbs, Empty, Figure, Shown, Time } from '../parts.js';
import { go, href, messageHref } from '../router.js';
import { may, seesPayloads } from '../session.js';
import { Table } from '../tables.js';
import { text } from '../texts/text.js';

type Schedule = Json<ShownSchedule>;

export function SchedulesPage(): JSX.Element {
  const t = text();
  const look = useLook<{ schedules: ShownSchedule[] }>('api/schedules');
  return (
    <>
      <h1>{t.nav.schedules}</h1>
      <Shown look={look}>
        {({ schedules }) =>
          schedules.length === 0 ? (
            <Card>
              <Empty>{t.schedules.none}</Empty>
            </Card>
          ) : (
            <Card>
              <Table
                label={t.nav.schedules}
                rows={schedules}
                keyOf={({ id }) => id}
                columns={[
                  {
                    name: t.schedules.id,
                    cell: (schedule) => (
                      <>
                        <a class="strong" href={href(['schedules', schedule.id])}>
                          {schedule.id}
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
                  { name: t.schedules.next, cell: ({ next }) => <Time at={next} /> },
                  { name: t.schedules.last, isSecondary: true, cell: ({ last }) => <Time at={last} /> },
                  {
                    name: t.schedules.missed,
                    isNumber: true,
                    isSecondary: true,
                    cell: ({ missed }) => <Count of={missed} />,
                  },
                ]}
              />
            </Card>
          )
        }
      </Shown>
    </>
  );
}

function State({ schedule: { paused, next } }: { schedule: Schedule }): JSX.Element | null {
  const t = text();
  if (paused) return <Badge tone="warning">{t.schedules.paused}</Badge>;
  return next === undefined ? <Badge>{t.schedules.ended}</Badge> : null;
}

/** In words, with what they stand for. */
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
  const look = useLook<{ schedule: ShownSchedule; next: Date[]; lastRun?: ShownMessage }>(
    pathOf('api/schedule', { id }),
  );
  return (
    <>
      <Crumbs of={[[t.nav.schedules, href(['schedules'])]]} />
      <Shown look={look}>
        {({ schedule, next, lastRun }) => (
          <>
            <div class="page-head">
              <div>
                <h1 class="wrap">
                  {schedule.id} <State schedule={schedule} />
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
                <Time at={schedule.next} />
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

/** What became of the message of an occurrence. */
function Outcome({ topic, run }: { topic: string; run: Json<ShownMessage> | undefined }): JSX.Element {
  const t = text();
  if (!run) return <>{t.schedules.unknownOutcome}</>;
  const { state, outcome, failure } = run;
  return (
    <>
      <a href={messageHref(topic, run)}>
        {outcome === undefined ? t.schedules.outcomes[state] : t.message.storyFinished[outcome]}
      </a>
      {failure && ` · ${failure.name}`}
    </>
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
                // The page of what is gone has nothing to show.
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
