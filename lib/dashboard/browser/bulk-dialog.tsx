import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Operation } from '../operations.js';
import { act, dryRun } from './api.js';
import { ActionButton, Dialog, Field, destroys } from './controls.js';
import type { Json } from './json.js';
import { follow } from './operations.js';
import { Failure, Name } from './parts.js';
import { messageHref } from './router.js';
import { seesPayloads } from './session.js';
import { text } from './texts/text.js';

/** Answer of a dry run. */
interface Counted {
  readonly matched: number;
  /** Up to three of the messages that are meant. */
  readonly examples?: readonly Example[];
}

interface Example {
  readonly id: string;
  readonly key: string;
  readonly payload?: unknown;
  readonly failure?: { readonly name: string; readonly message: string } | undefined;
}

const ROUTES = {
  runNow: 'api/messages/run-now',
  reschedule: 'api/messages/reschedule',
  cancel: 'api/messages/cancel',
  requeue: 'api/dead/requeue',
  remove: 'api/dead/remove',
  drain: 'api/drain',
  purge: 'api/purge',
} as const;

export interface BulkDialogProps {
  readonly action: keyof typeof ROUTES;
  readonly topic: string;
  /** Further input of the route. */
  readonly body: object;
  /** Whether the further fields are complete. */
  readonly isComplete?: boolean;
  readonly close: () => void;
  /** Further fields. */
  readonly children?: ComponentChildren;
}

/** Counts the messages that are meant and shows examples, before anything is changed. */
export function BulkDialog(props: BulkDialogProps): JSX.Element {
  const { action, topic, body, close } = props;
  const t = text();
  const [route, name] = [ROUTES[action], t.bulk.names[action] ?? action];
  // These affect all of a topic, so its name has to be typed.
  const isConfirmed = action === 'drain' || action === 'purge';
  const counted = useCount(route, { topic, ...body });
  const [rate, setRate] = useState('');
  const [typed, setTyped] = useState('');
  const { matched } = counted.answer ?? {};
  const begin = async (): Promise<void> => {
    const options = { ...(rate !== '' && { rate: Number(rate) }), ...(isConfirmed && { confirm: typed }) };
    const about = { topic, ...body, ...options, dryRun: false, total: matched };
    const begun = await act<{ operation: Operation }>(route, about);
    await follow(begun.operation);
    close();
  };
  const isReady = matched !== undefined && matched > 0 && (!isConfirmed || typed === topic);
  return (
    <Dialog title={`${t.bulk.all[action]} · ${topic}`} close={close}>
      <p>{t.bulk.what[action]}</p>
      {props.children}
      <div role="status">
        {matched === undefined && counted.error === undefined && <p class="muted">{t.bulk.counting}</p>}
        {matched !== undefined && <p class="strong">{t.bulk.meant(matched)}</p>}
      </div>
      {counted.error !== undefined && <Failure error={counted.error} />}
      <Examples topic={topic} examples={counted.answer?.examples ?? []} />
      {!isConfirmed && <Field name={t.bulk.rate} hint={t.bulk.rateHint} type="number" value={rate} change={setRate} />}
      {isConfirmed && <Field name={t.topic.typeName(topic)} value={typed} change={setTyped} />}
      <div class="dialog-actions">
        <button type="button" class="button button-plain" onClick={close}>
          {t.actions.back}
        </button>
        <ActionButton
          kind={destroys(action) ? 'danger' : 'primary'}
          disabled={!isReady || props.isComplete === false}
          run={begin}
        >
          {matched === undefined ? name : t.bulk.button(name, matched)}
        </ActionButton>
      </div>
    </Dialog>
  );
}

/** Counts what would be changed now. Closing the dialog ends the wait for it. */
function useCount(route: string, body: object): { answer?: Json<Counted>; error?: unknown } {
  const [counted, setCounted] = useState<{ answer?: Json<Counted>; error?: unknown }>({});
  useEffect(() => {
    const ended = new AbortController();
    const show = (one: typeof counted): void => {
      if (!ended.signal.aborted) setCounted(one);
    };
    dryRun<Counted>(route, body, ended.signal).then(
      (answer) => show({ answer }),
      (error: unknown) => show({ error }),
    );
    return () => ended.abort();
  }, []);
  return counted;
}

function Examples({ topic, examples }: { topic: string; examples: readonly Example[] }): JSX.Element | null {
  const t = text();
  if (examples.length === 0) return null;
  return (
    <>
      <p class="muted">{t.bulk.examples}</p>
      <ul class="examples">
        {examples.map((example) => (
          <li key={`${example.id} ${example.key}`}>
            <a class="mono strong" href={messageHref(topic, example)} target="_blank" rel="noreferrer">
              <Name of={example.id} />
            </a>
            <div class="muted mono clip">{contentOf(example)}</div>
          </li>
        ))}
      </ul>
    </>
  );
}

function contentOf({ payload, failure }: Example): string {
  if (failure) return `${failure.name}: ${failure.message}`;
  return payload === undefined || !seesPayloads() ? '' : JSON.stringify(payload);
}
