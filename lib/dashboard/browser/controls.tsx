import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { AuditedAction } from '../../events/audit-log.js';
import { Failure } from './parts.js';
import { may } from './session.js';
import { text } from './texts/text.js';

/** A button that does something on the server. It cannot be pressed again in the meantime, and shows what went wrong. */
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

/** Actions that cannot be undone. */
const DESTROYING: ReadonlySet<AuditedAction> = new Set(['cancel', 'remove', 'drain', 'purge', 'removeSchedule']);

export function destroys(action: AuditedAction): boolean {
  return DESTROYING.has(action);
}

/** A button for each action that the user is allowed to do. It asks before anything is done. */
export function AskButtons<A extends AuditedAction>({
  actions,
  names,
  ask,
  keyOf = (action) => action,
}: {
  actions: readonly A[];
  names: Readonly<Record<A, string>>;
  ask: (action: A) => void;
  keyOf?: (action: A) => string;
}): JSX.Element {
  return (
    <>
      {actions
        .filter((action) => may(action))
        .map((action) => (
          <button
            key={keyOf(action)}
            type="button"
            class={`button button-${destroys(action) ? 'danger' : 'plain'}`}
            onClick={() => ask(action)}
          >
            {names[action]}
          </button>
        ))}
    </>
  );
}

/** A window in front of the page; Escape closes it as well. */
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
  // A layout effect, since it has to be closed while it is still in the page: that returns the focus to the element that opened it.
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

/** A field with its name and its hint. */
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
