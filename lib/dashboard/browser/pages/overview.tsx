import type { JSX } from 'preact';
import type { Overview, TopicLine } from '../../problems.js';
import { Agenda } from '../agenda.js';
import { useLook } from '../api.js';
import { Sparkbars, Sparkline } from '../charts.js';
import { Field } from '../controls.js';
import { compact, duration, lateness, now, number, shortDateTime, withLocalTimes } from '../format.js';
import { useKept } from '../history-steps.js';
import type { Json } from '../json.js';
import { Badge, Card, Count, Empty, Figure, Shown } from '../parts.js';
import { href, replaceQuery } from '../router.js';
import { type Column, Table } from '../tables.js';
import { text } from '../texts/text.js';

const PAGE = 50;
const MAX_PROBLEMS = 8;

type Line = Json<TopicLine>;
type Problem = Json<Overview>['problems'][number];

export function OverviewPage({ query }: { query: URLSearchParams }): JSX.Element {
  const t = text();
  const overview = useLook<Overview>('api/overview');
  return (
    <>
      <h1>{t.nav.overview}</h1>
      <Shown look={overview}>
        {({ topics, problems, processes }) => (
          <>
            <Totals topics={topics} processes={processes} />
            <Problems problems={problems} topics={topics} />
            <Agenda query={query} />
            <Topics topics={topics} problems={problems} wanted={query.get('topic') ?? ''} />
          </>
        )}
      </Shown>
    </>
  );
}

function Totals({ topics, processes }: { topics: readonly Line[]; processes: number }): JSX.Element {
  const t = text();
  const sum = (value: (line: Line) => number): number => topics.reduce((total, line) => total + value(line), 0);
  const dead = sum((line) => line.dead);
  return (
    <dl class="figures">
      <Figure name={t.overview.scheduled}>{compact(sum((line) => line.scheduled))}</Figure>
      <Figure name={t.overview.overdue}>{compact(sum((line) => line.overdue))}</Figure>
      <Figure name={t.overview.inFlight}>{compact(sum((line) => line.inFlight))}</Figure>
      <Figure name={t.overview.retrying}>{compact(sum((line) => line.retrying))}</Figure>
      <Figure name={t.overview.dead} {...(dead > 0 && { tone: 'bad' as const })}>
        {compact(dead)}
      </Figure>
      <Figure name={t.overview.rate}>{t.overview.perSecond(number(sum(rateOf)))}</Figure>
      <Figure name={t.overview.processes}>{compact(processes)}</Figure>
    </dl>
  );
}

function Problems({ problems, topics }: { problems: readonly Problem[]; topics: readonly Line[] }): JSX.Element {
  const t = text();
  const [isWhole, setWhole] = useKept('all problems', false);
  const unhandled = topics.filter(({ handlers, receivers }) => handlers + receivers === 0).length;
  if (problems.length === 0) {
    return <div class="notice notice-good">{unhandled > 0 ? t.problems.idle(unhandled) : t.problems.fine}</div>;
  }
  const sorted = problems.toSorted((a, b) => rankOf(a) - rankOf(b) || countOf(b) - countOf(a));
  return (
    <Card title={t.problems.title}>
      <ul class="problems">
        {(isWhole ? sorted : sorted.slice(0, MAX_PROBLEMS)).map((problem) => (
          <li key={JSON.stringify(problem)}>
            <span class={`dot dot-${problem.kind === 'dead' ? 'warning' : 'bad'}`} />
            <span>{wordsOf(problem)}</span>
            <a href={placeOf(problem)}>{t.problems.todo[problem.kind]}</a>
          </li>
        ))}
      </ul>
      {problems.length > MAX_PROBLEMS && !isWhole && (
        <footer class="card-foot">
          <button type="button" class="button button-plain" onClick={() => setWhole(true)}>
            {t.problems.more(problems.length - MAX_PROBLEMS)}
          </button>
        </footer>
      )}
    </Card>
  );
}

/** Returns the rank of a problem: dead letters can wait longer than all the others. */
function rankOf({ kind }: Problem): number {
  if (kind === 'redis' || kind === 'unreachable') return 0;
  return kind === 'dead' ? 2 : 1;
}

function countOf(problem: Problem): number {
  return problem.kind === 'redis' ? 0 : problem.count;
}

function wordsOf(problem: Problem): string {
  const { redis, noProcess, unreachable, paused, held, noHandler, noOwner, late, blocked, dead } = text().problems;
  if (problem.kind === 'redis') return redis(problem.check, withLocalTimes(problem.message));
  if (problem.kind === 'no-process') return noProcess(problem.count);
  const words = { unreachable, paused, held, 'no-handler': noHandler, 'no-owner': noOwner, late, blocked, dead };
  return words[problem.kind](
    problem.topic,
    problem.count,
    problem.until === undefined ? '' : shortDateTime(problem.until),
  );
}

function placeOf(problem: Problem): string {
  if (problem.kind === 'redis' || problem.kind === 'unreachable') return href(['doctor']);
  if (problem.kind === 'no-process') return href(['fleet']);
  const { kind, topic } = problem;
  if (kind === 'dead') return href(['topics', topic, 'dead']);
  return kind === 'no-owner' || kind === 'no-handler' ? href(['fleet']) : href(['topics', topic]);
}

function Topics({
  topics,
  problems,
  wanted,
}: {
  topics: readonly Line[];
  problems: readonly Problem[];
  wanted: string;
}): JSX.Element {
  const t = text();
  const [shown, setShown] = useKept('topics', PAGE);
  const troubled = new Set(problems.flatMap((problem) => ('topic' in problem ? [problem.topic] : [])));
  const fitting = topics
    .filter(({ topic }) => topic.toLowerCase().includes(wanted.trim().toLowerCase()))
    .toSorted(
      (a, b) => Number(troubled.has(b.topic)) - Number(troubled.has(a.topic)) || a.topic.localeCompare(b.topic),
    );
  const rows = fitting.slice(0, shown);
  return (
    <Card
      title={t.nav.topics}
      aside={
        topics.length > 5 && (
          <Field
            name={t.overview.filter}
            type="search"
            value={wanted}
            change={(value) => replaceQuery({ topic: value || undefined })}
          />
        )
      }
    >
      {topics.length === 0 ? (
        <Empty>{t.overview.noTopics}</Empty>
      ) : (
        <>
          <Table label={t.nav.topics} columns={columns()} rows={rows} keyOf={({ topic }) => topic} />
          <footer class="card-foot">
            <span class="muted">{t.overview.shown(rows.length, topics.length)}</span>
            {fitting.length > shown && (
              <button type="button" class="button button-plain" onClick={() => setShown(shown + PAGE * 4)}>
                {t.overview.showAll}
              </button>
            )}
          </footer>
        </>
      )}
    </Card>
  );
}

function columns(): Column<Line>[] {
  const t = text();
  return [
    {
      name: t.overview.topic,
      cell: ({ topic, paused, heldUntil, retrying, overdue, oldestOverdueAt }) => (
        <>
          <a class="strong" href={href(['topics', topic])}>
            {topic}
          </a>
          {paused && <Badge tone="warning">{t.topic.paused}</Badge>}
          {heldUntil !== undefined && Date.parse(heldUntil) > now() && <Badge tone="warning">{t.topic.held}</Badge>}
          {retrying > 0 && <Badge tone="warning">{t.overview.retried(retrying)}</Badge>}
          {overdue > 0 && (
            <span class="narrow muted">{t.overview.overdueSince(overdue, overdueFor(oldestOverdueAt))}</span>
          )}
        </>
      ),
    },
    { name: t.overview.scheduled, isNumber: true, cell: ({ scheduled }) => <Count of={scheduled} /> },
    { name: t.overview.overdue, isNumber: true, isSecondary: true, cell: ({ overdue }) => <Count of={overdue} /> },
    {
      name: t.overview.oldest,
      isNumber: true,
      isSecondary: true,
      cell: ({ oldestOverdueAt }) =>
        oldestOverdueAt === undefined ? <span class="zero">{t.state.none}</span> : overdueFor(oldestOverdueAt),
    },
    { name: t.overview.inFlight, isNumber: true, isSecondary: true, cell: ({ inFlight }) => <Count of={inFlight} /> },
    {
      name: t.overview.dead,
      isNumber: true,
      cell: ({ topic, dead }) =>
        dead === 0 ? (
          <Count of={0} />
        ) : (
          <a class="bad" href={href(['topics', topic, 'dead'])}>
            {compact(dead)}
          </a>
        ),
    },
    {
      name: t.overview.rate,
      isNumber: true,
      isSecondary: true,
      cell: (line) => (
        <span class="with-spark">
          <Sparkbars values={line.minutes.map(({ delivered }) => delivered)} label={t.overview.rate} />
          <span class={`spark-value ${rateOf(line) === 0 ? 'zero' : ''}`}>
            {t.overview.perSecond(number(rateOf(line)))}
          </span>
        </span>
      ),
    },
    {
      name: t.overview.lateness,
      isNumber: true,
      isSecondary: true,
      cell: ({ minutes }) => {
        const latest = minutes.findLast((minute) => minute.lateness)?.lateness;
        return (
          <span class="with-spark">
            <Sparkline values={minutes.map((minute) => minute.lateness?.p99)} label={t.overview.lateness} />
            <span class={`spark-value spark-value-wide ${latest ? '' : 'zero'}`}>
              {latest ? `${lateness(latest.p50)} / ${lateness(latest.p99)}` : t.state.none}
            </span>
          </span>
        );
      },
    },
  ];
}

/** Returns how long the first overdue message has been overdue. */
function overdueFor(oldestOverdueAt: string | undefined): string {
  return oldestOverdueAt === undefined ? '' : duration(Math.max(0, now() - Date.parse(oldestOverdueAt)));
}

/** Returns the deliveries per second of the last minutes; the current one says little in its first seconds. */
function rateOf({ minutes }: Line): number {
  const last = minutes.slice(-2);
  const seconds = last.reduce((sum, minute) => sum + minute.seconds, 0);
  return seconds === 0 ? 0 : last.reduce((sum, { delivered }) => sum + delivered, 0) / seconds;
}
