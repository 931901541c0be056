import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError, type Look } from './api.js';
import { dateTime, relative } from './format.js';
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

/** What was looked at, or why it cannot be shown. */
export function Shown<T>({
  look: { data, error },
  children,
}: {
  look: Look<T>;
  children: (data: NonNullable<Look<T>['data']>) => ComponentChildren;
}): JSX.Element {
  const t = text();
  return (
    <>
      {error && <Failure error={error} />}
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
  return error instanceof Error && error.message !== '' ? error.message : t.state.failed;
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

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
  /** Left out on a narrow screen. */
  readonly isSecondary?: boolean;
}

export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
}: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}): JSX.Element {
  const classOf = ({ isNumber, isSecondary }: Column<Row>): string =>
    `${isNumber ? 'number' : ''} ${isSecondary ? 'secondary' : ''}`;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Tabs that are links, so that a tab has an address. */
export function Tabs<T extends string>({
  label,
  tabs,
  chosen,
  href,
}: {
  label: string;
  tabs: readonly { readonly id: T; readonly name: ComponentChildren }[];
  chosen: T;
  href: (id: T) => string;
}): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, name }) => (
        <a key={id} href={href(id)} aria-current={id === chosen ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

/** A button that does something on the server. It cannot be pressed again meanwhile, and says what went wrong. */
export function ActionButton({
  run,
  kind = 'plain',
  disabled = false,
  children,
}: {
  run: () => Promise<void>;
  kind?: 'plain' | 'primary' | 'danger';
  disabled?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const press = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    await run().catch(setError);
    setBusy(false);
  };
  return (
    <>
      <button
        type="button"
        class={`button button-${kind}`}
        disabled={disabled || isBusy}
        aria-busy={isBusy}
        onClick={() => void press()}
      >
        {children}
      </button>
      {error !== undefined && <Failure error={error} />}
    </>
  );
}

/** A window before the page, closed with Escape as well. */
export function Dialog({
  title,
  close,
  children,
}: {
  title: string;
  close: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect, since it has to be closed while it still stands in the page: that gives the focus back to what has opened it.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={close}>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="icon-button" aria-label={text().actions.close} onClick={close}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}

/** A field with its name and what it needs. */
export function Field({
  name,
  hint,
  value,
  change,
  type = 'text',
}: {
  name: string;
  hint?: string;
  value: string;
  change: (value: string) => void;
  type?: 'text' | 'number' | 'datetime-local' | 'search';
}): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{name}</label>
      <input
        id={id}
        {...({ type } as { type: 'text' })}
        value={value}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      {hint && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}

/** Something as JSON. It is shown as text, whatever is in it. */
export function Code({ value }: { value: unknown }): JSX.Element {
  return (
    <pre class="code" tabIndex={0}>
      {typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)}
    </pre>
  );
}
