import type { ComponentChildren, JSX } from 'preact';
import type { Look } from './api.js';
import { ApiError, SESSION_OVER } from './asked.js';
import { ageOf, compact, dateTime, duration, relative, withLocalTimes } from './format.js';
import { goBackTo } from './history-steps.js';
import { visible } from './names.js';
import { isOfRedisAway } from './redis-away.js';
import { text } from './texts/text.js';

type Tone = 'neutral' | 'good' | 'warning' | 'bad' | 'accent';

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ComponentChildren }): JSX.Element {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}

export function Card({
  title,
  aside,
  children,
}: {
  title?: ComponentChildren;
  aside?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="card">
      {(title ?? aside) && (
        <header class="card-head">
          {title && <h2>{title}</h2>}
          {aside && <div class="card-aside">{aside}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** A figure with its name. */
export function Figure({
  name,
  tone,
  children,
}: {
  name: string;
  tone?: Tone;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`figure ${tone ? `figure-${tone}` : ''}`}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Age from which a look shows how old it is, in milliseconds. Most never get as old, but costly ones are taken rarely. */
const OLD = 15_000;

/** The answer of a look, with its age if that is worth a word, or why it cannot be shown. */
export function Shown<T>({
  look: { data, at, error },
  children,
}: {
  look: Look<T>;
  children: (data: NonNullable<Look<T>['data']>) => ComponentChildren;
}): JSX.Element {
  const t = text();
  return (
    <>
      {error && !isOfRedisAway(error) && error.code !== SESSION_OVER && <Failure error={error} />}
      {data && at !== undefined && ageOf(at) >= OLD && <p class="age">{t.state.age(duration(ageOf(at), 1))}</p>}
      {data
        ? children(data)
        : !error && (
            <p class="loading" role="status">
              {t.state.loading}
            </p>
          )}
    </>
  );
}

export function Failure({ error }: { error: unknown }): JSX.Element {
  return (
    <div class="notice notice-bad" role="alert">
      {messageOf(error)}
    </div>
  );
}

export function messageOf(error: unknown): string {
  const t = text();
  if (error instanceof ApiError && error.code === 'UNREACHABLE') return t.state.unreachable;
  if (error instanceof ApiError && error.code === SESSION_OVER) return t.state.sessionOver;
  return error instanceof Error && error.message !== '' ? withLocalTimes(error.message) : t.state.failed;
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

/** A time as seen from now; the time itself is its title. */
export function Time({ at }: { at: string | number | undefined }): JSX.Element {
  if (at === undefined) return <span>{text().state.none}</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={dateTime(at)}>
      {relative(at)}
    </time>
  );
}

/** A count in a table; a zero is faint. */
export function Count({ of: value }: { of: number }): JSX.Element {
  return <span class={value === 0 ? 'zero' : ''}>{compact(value)}</span>;
}

/** The way to a page from the ones above it. A user who came from one of them goes back to it, and finds it as it was. */
export function Crumbs({ of: steps }: { of: readonly (readonly [name: string, href: string])[] }): JSX.Element {
  return (
    <nav class="crumbs" aria-label={text().actions.back}>
      {steps.map(([name, href]) => (
        <a
          key={href}
          href={href}
          onClick={(event) => {
            const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
            if (isPlain && goBackTo(href)) event.preventDefault();
          }}
        >
          {name}
        </a>
      ))}
    </nav>
  );
}

/** A name that someone has chosen, such as an id: it stays in its place, whatever its length and content. */
export function Name({ of: name }: { of: string }): JSX.Element {
  return <bdi class="name">{visible(name)}</bdi>;
}

/** A value as JSON. It is shown as text, whatever its content. */
export function Code({ value }: { value: unknown }): JSX.Element {
  return (
    <pre class="code" tabIndex={0}>
      {typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)}
    </pre>
  );
}
