import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isSessionOver } from './asked.js';
import { shortDateTime, withLocalTimes } from './format.js';
import icon from './icon.svg';
import { RunningOperations } from './operations.js';
import { AuditPage } from './pages/audit.js';
import { DeadLettersPage } from './pages/dead-letters.js';
import { DoctorPage } from './pages/doctor.js';
import { FleetPage } from './pages/fleet.js';
import { LivePage } from './pages/live.js';
import { MessagePage } from './pages/message.js';
import { OverviewPage } from './pages/overview.js';
import { SchedulePage, SchedulesPage } from './pages/schedules.js';
import { TopicPage } from './pages/topic.js';
import { currentStep, scrolledBefore } from './history-steps.js';
import { visible } from './names.js';
import { Badge, Card, Code, Empty, Failure } from './parts.js';
import { redisAway } from './redis-away.js';
import { type Place, href, place } from './router.js';
import { tryUntilDone } from './retrying.js';
import { scrollOnceThere } from './scroll.js';
import { onlyLooks, openSession, seesAllTopics, session, setClock } from './session.js';
import { LANGUAGES, type Language, language } from './texts/language.js';
import { text } from './texts/text.js';
import { THEMES, theme } from './theme.js';
import { isConnected } from './watch.js';

const NAVIGATION = ['overview', 'schedules', 'fleet', 'live', 'audit', 'doctor'] as const;

/** The frame of each page. */
export function Shell(): JSX.Element {
  const [error, setError] = useState<unknown>();
  useEffect(
    () =>
      tryUntilDone(async () => {
        await openSession();
        setError(undefined);
      }, setError),
    [],
  );
  useEffect(() => tryUntilDone(setClock), []);
  const title = `${titleOf(place.value)} · ${text().title}`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  const t = text();
  return (
    <>
      <a class="skip" href="#content" onClick={focusContent}>
        {t.skip}
      </a>
      <Header />
      <div class="body">
        {isSessionOver.value && <SessionOver />}
        {!isConnected.value && !isSessionOver.value && (
          <div class="notice notice-warning" role="status">
            {t.state.disconnected}
          </div>
        )}
        {error !== undefined && !isSessionOver.value && <Failure error={error} />}
        {session.value && <Content />}
      </div>
    </>
  );
}

/** Says why nothing is answered any more: a reload of the page asks the user to log in. */
function SessionOver(): JSX.Element {
  const t = text();
  return (
    <div class="notice notice-bad" role="alert">
      {t.state.sessionOver}{' '}
      <button type="button" class="button button-plain" onClick={() => location.reload()}>
        {t.actions.reload}
      </button>
    </div>
  );
}

/** Returns a title that distinguishes pages in tabs and in the history of the browser. */
function titleOf({ parts: [area = 'overview', name, kind, id] }: Place): string {
  const t = text();
  if (area === 'topics' && name !== undefined) {
    if (kind === 'messages' && id !== undefined) return t.message.title(visible(id));
    return kind === 'dead' ? `${t.dead.title} · ${name}` : name;
  }
  const page = NAVIGATION.find((one) => one === area);
  return name ?? (page ? t.nav[page] : t.state.notFound);
}

function Header(): JSX.Element {
  const t = text();
  const current = place.value.parts[0] ?? 'overview';
  const { actor } = session.value ?? {};
  return (
    <header class="top">
      <div class="top-row">
        <a class="brand" href={href([])}>
          <img src={icon} alt="" width="28" height="28" />
          {t.title}
        </a>
        <nav class="main-nav" aria-label={t.title}>
          {NAVIGATION.filter((page) => page !== 'doctor' || seesAllTopics()).map((page) => {
            const isCurrent = page === current || (page === 'overview' && current === 'topics');
            return (
              <a
                key={page}
                href={href(page === 'overview' ? [] : [page])}
                aria-current={isCurrent ? 'page' : undefined}
              >
                {t.nav[page]}
              </a>
            );
          })}
        </nav>
        <div class="settings">
          {onlyLooks() && (
            <span title={t.settings.readOnlyHint}>
              <Badge tone="warning">{t.settings.readOnly}</Badge>
            </span>
          )}
          {actor && (
            <span class="actor" title={t.settings.signedIn(actor)}>
              {actor}
            </span>
          )}
          <select
            aria-label={t.settings.theme}
            value={theme.value}
            onChange={({ currentTarget }) => {
              theme.value = currentTarget.value as (typeof THEMES)[number];
            }}
          >
            {THEMES.map((one) => (
              <option key={one} value={one}>
                {t.settings.themes[one]}
              </option>
            ))}
          </select>
          <select
            aria-label={t.settings.language}
            value={language.value}
            onChange={({ currentTarget }) => {
              language.value = currentTarget.value as Language;
            }}
          >
            {Object.entries(LANGUAGES).map(([id, name]) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </div>
      </div>
    </header>
  );
}

function Content(): JSX.Element {
  const main = useRef<HTMLElement>(null);
  const [area] = place.value.parts;
  const address = place.value.parts.join('/');
  const first = useRef(true);
  useLayoutEffect(() => {
    // A screen reader announces the change of the page at once.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
    if (scrolledBefore() === undefined) window.scrollTo(0, 0);
  }, [address]);
  useLayoutEffect(() => {
    const before = scrolledBefore();
    return before === undefined || !main.current ? undefined : scrollOnceThere(main.current, before);
  }, [currentStep()]);
  return (
    <main id="content" tabIndex={-1} ref={main}>
      <RunningOperations />
      {area !== 'doctor' && <RedisAway />}
      {pageAt(place.value)}
    </main>
  );
}

/** Says why nothing can be shown. The looks continue, and end this as soon as one is answered. */
function RedisAway(): JSX.Element | null {
  const t = text();
  const away = redisAway.value;
  if (!away) return null;
  return (
    <Card>
      <div class="away" role="alert">
        <h2>{t.redisAway.title}</h2>
        <p>{t.redisAway.what}</p>
        <Code value={withLocalTimes(away.message)} />
        <p class="muted">
          {t.redisAway.since(shortDateTime(away.since))}{' '}
          {seesAllTopics() && <a href={href(['doctor'])}>{t.problems.todo.redis}</a>}
        </p>
      </div>
    </Card>
  );
}

function pageAt({ parts, query }: Place): ComponentChildren {
  const [area, name, kind, id] = parts;
  if (area === undefined) return <OverviewPage query={query} />;
  if (area === 'topics' && name !== undefined) {
    if (kind === undefined) return <TopicPage key={name} topic={name} query={query} />;
    if (kind === 'dead') return <DeadLettersPage key={name} topic={name} />;
    if (kind === 'messages' && id !== undefined) {
      const key = query.get('key') ?? undefined;
      return <MessagePage key={`${name}/${id}/${key}`} topic={name} id={id} messageKey={key} />;
    }
  }
  if (area === 'schedules') return name === undefined ? <SchedulesPage /> : <SchedulePage key={name} id={name} />;
  if (area === 'fleet') return <FleetPage />;
  if (area === 'live') return <LivePage query={query} />;
  if (area === 'audit') return <AuditPage />;
  if (area === 'doctor') return <DoctorPage />;
  return <Empty>{text().state.notFound}</Empty>;
}

function focusContent(event: Event): void {
  // The fragment of the address names the page.
  event.preventDefault();
  document.getElementById('content')?.focus();
}
