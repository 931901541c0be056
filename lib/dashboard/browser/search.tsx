import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ShownMessage } from '../redaction.js';
import { changesSeen, look, pathOf } from './api.js';
import { BulkDialog } from './bulk-dialog.js';
import { AskButtons, Field } from './controls.js';
import { scrolledBefore, useKept } from './history-steps.js';
import type { Json } from './json.js';
import { Failure } from './parts.js';
import { go } from './router.js';
import { showInCard } from './scroll.js';
import { may, mayActByContent, seesPayloads } from './session.js';
import { text } from './texts/text.js';

type Message = Json<ShownMessage>;

/** Parameters of the address of a search. */
export interface Sought {
  readonly tag?: string | undefined;
  readonly key?: string | undefined;
  readonly text?: string | undefined;
  readonly field?: string | undefined;
  readonly value?: string | undefined;
}

/** Reads the search from the parameters of an address; `undefined` if there is none. */
export function soughtIn(query: URLSearchParams): Sought | undefined {
  const [tag, key, words, field, value] = ['tag', 'key', 'text', 'field', 'value'].map(
    (name) => query.get(name) || undefined,
  );
  const sought = { tag, key, text: words, ...(field !== undefined && { field, value: value ?? '' }) };
  return Object.values(sought).some((one) => one !== undefined) ? sought : undefined;
}

const WAYS = ['id', 'key', 'tag', 'text', 'field'] as const;
type Way = (typeof WAYS)[number];

/** Finds one message by its id, or those that have something in common. */
export function SearchForm({ topic, state, sought }: { topic: string; state: string; sought: Sought }): JSX.Element {
  const t = text();
  // The content of payloads must not be revealed by trial.
  const ways = WAYS.filter((way) => seesPayloads() || (way !== 'text' && way !== 'field'));
  const [by, setBy] = useState<Way>(() => ways.find((way) => way !== 'id' && sought[way] !== undefined) ?? 'id');
  const [wanted, setWanted] = useState(() => (by === 'id' ? '' : (sought[by] ?? '')));
  const [second, setSecond] = useState(sought.value ?? '');
  const search = (event: Event): void => {
    event.preventDefault();
    const [first, other] = [wanted.trim(), second.trim()];
    if (by === 'id') {
      if (first !== '') go(['topics', topic, 'messages', first], { key: other || undefined });
      return;
    }
    const found = { [by]: first || undefined, ...(by === 'field' && first !== '' && { value: second }) };
    // A tag finds only messages that wait, run or are dead; due messages are waiting ones.
    const where = state === 'due' || (by === 'tag' && state === 'finished') ? 'scheduled' : state;
    go(['topics', topic], { state: where, ...found });
  };
  return (
    <form class="search" role="search" onSubmit={search}>
      <select aria-label={t.search.by} value={by} onChange={({ currentTarget }) => setBy(currentTarget.value as Way)}>
        {ways.map((way) => (
          <option key={way} value={way}>
            {t.search.ways[way]}
          </option>
        ))}
      </select>
      <Field name={t.search.fields[by]} type="search" value={wanted} change={setWanted} />
      {(by === 'id' || by === 'field') && (
        <Field name={by === 'id' ? t.topic.key : t.search.value} type="search" value={second} change={setSecond} />
      )}
      <button type="submit" class="button button-plain">
        {t.actions.search}
      </button>
    </form>
  );
}

interface Found {
  readonly messages: readonly Message[];
  readonly read: number;
  readonly cursor: string | undefined;
  readonly isRunning: boolean;
  readonly error?: unknown;
  /** Number of changes made here before the search began; `undefined` if it did not begin. */
  readonly changes: number | undefined;
}

const NOTHING: Found = { messages: [], read: 0, cursor: undefined, isRunning: true, changes: undefined };

/** Messages to find before the user is asked whether to continue. */
const WANTED = 50;

/** Matches of a search so far. It continues in steps, each of which the server bounds, until it is stopped. */
export function SearchResults({
  topic,
  state,
  sought,
  children,
}: {
  topic: string;
  state: string;
  sought: Sought;
  children: (messages: readonly Message[], isOver: boolean) => JSX.Element;
}): JSX.Element {
  const t = text();
  const { found, stop, goOn } = useSearch({ topic, state, ...sought });
  const { messages, read, cursor, isRunning, error } = found;
  const isOver = !isRunning && cursor === undefined;
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (place.current && scrolledBefore() === undefined) showInCard(place.current);
  }, []);
  return (
    <>
      <div class="search-state" ref={place}>
        <span role="status" class="muted">
          {t.search.progress(read, messages.length)} {isOver && error === undefined && t.search.over}
        </span>
        <div class="actions">
          {isRunning && (
            <button type="button" class="button button-plain" onClick={stop}>
              {t.actions.stop}
            </button>
          )}
          {!isRunning && cursor !== undefined && (
            <button type="button" class="button button-plain" onClick={goOn}>
              {t.search.goOn}
            </button>
          )}
          {state === 'scheduled' && <WaitingActions topic={topic} filter={filterOf(sought)} />}
        </div>
      </div>
      {error !== undefined && <Failure error={error} />}
      {(error === undefined || messages.length > 0) && children(messages, isOver)}
    </>
  );
}

function filterOf({ field, value, ...rest }: Sought): SearchFilter {
  return { ...rest, ...(field !== undefined && { field: { path: field, value: value ?? '' } }) };
}

/** Begins a search when it is shown, and anew once something was changed here. A user who comes back to it finds its matches. */
function useSearch(query: Readonly<Record<string, string | undefined>>): {
  found: Found;
  stop: () => void;
  goOn: () => void;
} {
  const [found, setFound] = useKept(`search ${JSON.stringify(query)}`, NOTHING);
  const [under, setUnder] = useState<AbortController>();
  const changes = changesSeen();
  const run = async (before: Found, ended: AbortController, wanted: number): Promise<void> => {
    setUnder(ended);
    let sofar: Found = { ...before, isRunning: true, error: undefined, changes };
    const isWanted = (): boolean => !ended.signal.aborted && sofar.messages.length < wanted;
    try {
      do {
        if (!ended.signal.aborted) setFound(sofar);
        const page = await look<{ messages: ShownMessage[]; read: number; cursor?: string | undefined }>(
          pathOf('api/search', { ...query, cursor: sofar.cursor }),
          ended.signal,
        );
        const messages = [...sofar.messages, ...page.messages];
        sofar = { ...sofar, messages, read: sofar.read + page.read, cursor: page.cursor };
      } while (sofar.cursor !== undefined && isWanted());
      if (!ended.signal.aborted) setFound({ ...sofar, isRunning: false });
    } catch (error) {
      if (!ended.signal.aborted) setFound({ ...sofar, isRunning: false, error });
    }
  };
  useEffect(() => {
    const ended = new AbortController();
    const wanted = Math.max(WANTED, found.messages.length);
    if (found.changes !== changes) void run(NOTHING, ended, wanted);
    else if (found.isRunning) void run(found, ended, wanted);
    return () => ended.abort();
  }, [changes]);
  return {
    found,
    stop: () => {
      under?.abort();
      setFound({ ...found, isRunning: false });
    },
    goOn: () => void run(found, new AbortController(), found.messages.length + WANTED),
  };
}

/** Selects messages in the form of `MessageFilter`. */
interface SearchFilter {
  readonly tag?: string | undefined;
  readonly key?: string | undefined;
  readonly text?: string | undefined;
  readonly field?: { readonly path: string; readonly value: string } | undefined;
}

const ACTIONS = ['runNow', 'reschedule', 'cancel'] as const;

/** Possible actions on all waiting messages that match a filter. */
function WaitingActions({ topic, filter }: { topic: string; filter: SearchFilter }): JSX.Element | null {
  const t = text();
  const [asked, setAsked] = useState<(typeof ACTIONS)[number]>();
  const [delay, setDelay] = useState('10m');
  if (!ACTIONS.some((action) => may(action))) return null;
  if ((filter.text !== undefined || filter.field) && !mayActByContent()) return <p class="hint">{t.bulk.byContent}</p>;
  return (
    <div class="actions">
      <AskButtons actions={ACTIONS} names={t.bulk.all} ask={setAsked} />
      {asked && (
        <BulkDialog
          key={asked}
          action={asked}
          topic={topic}
          body={{ filter, ...(asked === 'reschedule' && { delay }) }}
          isComplete={asked !== 'reschedule' || delay.trim() !== ''}
          close={() => setAsked(undefined)}
        >
          {asked === 'reschedule' && (
            <Field name={t.bulk.delay} hint={t.message.delayHint} value={delay} change={setDelay} />
          )}
        </BulkDialog>
      )}
    </div>
  );
}
