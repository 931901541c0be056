import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Operation } from '../operations.js';
import { act, look, lookAgain } from './api.js';
import { ActionButton } from './controls.js';
import { withLocalTimes } from './format.js';
import type { Json } from './json.js';
import { Badge } from './parts.js';
import { may } from './session.js';
import { text } from './texts/text.js';

const INTERVAL = 1000;

const TONES = { running: 'accent', done: 'good', stopped: 'warning', failed: 'bad' } as const;

/** An operation, as last known to this page. */
interface Known {
  readonly operation: Json<Operation>;
  /** Whether the process that answered last does not have it: there can be several behind one address. */
  readonly isElsewhere: boolean;
}

const known = signal<readonly Known[]>([]);

/** Ids of the operations that the user has dismissed. */
const hidden = signal<ReadonlySet<string>>(new Set());

/** Call this with an operation that was begun. */
export async function follow(operation: Json<Operation>): Promise<void> {
  known.value = [{ operation, isElsewhere: false }, ...known.value];
  await lookAtOperations();
}

async function lookAtOperations(): Promise<void> {
  let listed: readonly Json<Operation>[];
  try {
    ({ operations: listed } = await look<{ operations: Operation[] }>('api/operations'));
  } catch {
    // The notice about the connection says so, and the next look comes anyway.
    return;
  }
  const states = new Map(listed.map(({ id, state }) => [id, state]));
  const before = known.value;
  const others = before.filter(({ operation }) => !states.has(operation.id));
  known.value = [
    ...listed.map((operation) => ({ operation, isElsewhere: false })),
    ...others.map(({ operation }) => ({ operation, isElsewhere: operation.state === 'running' })),
  ];
  const hasEnded = ({ operation: { id, state } }: Known): boolean =>
    state === 'running' && (states.get(id) ?? state) !== 'running';
  // The page shows looks that were taken while it ran.
  if (before.some(hasEnded)) lookAgain();
}

/** Loads the operations, and hides those that had ended before the page was opened. */
async function openOperations(): Promise<void> {
  await lookAtOperations();
  const ended = known.value.filter(({ operation }) => operation.state !== 'running');
  hidden.value = new Set(ended.map(({ operation }) => operation.id));
}

/** Work on many messages that was begun on this page, or in the process that answers. */
export function RunningOperations(): JSX.Element | null {
  const shown = known.value.filter(({ operation }) => !hidden.value.has(operation.id));
  const isRunning = shown.some(({ operation }) => operation.state === 'running');
  useEffect(() => {
    void openOperations();
  }, []);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => void lookAtOperations(), INTERVAL);
    return () => clearInterval(timer);
  }, [isRunning]);
  if (shown.length === 0) return null;
  const t = text();
  return (
    <section class="operations" aria-label={t.operations.title} aria-live="polite">
      {shown.map((one) => (
        <OperationLine key={one.operation.id} known={one} />
      ))}
    </section>
  );
}

function OperationLine({ known: { operation, isElsewhere } }: { known: Known }): JSX.Element {
  const t = text();
  const { id, action, topic, state, error } = operation;
  const isRunning = state === 'running';
  const stop = async (): Promise<void> => {
    await act('api/operations/stop', { id });
    await lookAtOperations();
  };
  return (
    <div class="operation">
      <strong>
        {t.bulk.names[action] ?? action} · {topic}
      </strong>
      <Badge tone={TONES[state]}>{t.operations.states[state]}</Badge>
      <span class="muted">{progressOf(operation)}</span>
      {isRunning && <ProgressBar operation={operation} />}
      {error !== undefined && <span class="bad">{withLocalTimes(error)}</span>}
      {isElsewhere && <span class="muted">{t.operations.elsewhere}</span>}
      <span class="operation-end">
        {isRunning && !isElsewhere && may(action) && <ActionButton run={stop}>{t.actions.stop}</ActionButton>}
        {(!isRunning || isElsewhere) && (
          <button
            type="button"
            class="button button-plain"
            onClick={() => {
              hidden.value = new Set([...hidden.value, id]);
            }}
          >
            {t.operations.dismiss}
          </button>
        )}
      </span>
    </div>
  );
}

function ProgressBar({ operation }: { operation: Json<Operation> }): JSX.Element {
  const t = text();
  const { action, total, progress } = operation;
  const { changed = 0, matched = 0 } = progress ?? {};
  return (
    <progress
      {...(total !== undefined && { value: changed, max: Math.max(total, matched) })}
      aria-label={t.bulk.names[action] ?? action}
    />
  );
}

/** Returns the number of changed messages out of those meant; `undefined` before the first step. */
function progressOf({ state, total = 0, progress, result }: Json<Operation>): string | undefined {
  const counts = result ?? progress;
  if (!counts) return undefined;
  const { changed, matched } = counts;
  // More may have come since they were counted; and a finished operation has met all that there were.
  return text().operations.progress(changed, state === 'done' ? matched : Math.max(total, matched));
}
