import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { PeekState } from '../../admin/peek.js';
import type { TopicStats } from '../../admin/topic-stats.js';
import type { ShownMessage } from '../redaction.js';
import { pathOf } from './api.js';
import { compact } from './format.js';
import type { Json } from './json.js';
import { Pages } from './pages.js';
import { Badge, Card, type Column, Empty, Field, Table, Tabs, Time } from './parts.js';
import { go, href } from './router.js';
import { text } from './texts/text.js';

const STATES: readonly PeekState[] = ['scheduled', 'due', 'in-flight', 'dead', 'finished'];

type Message = Json<ShownMessage>;

interface Page {
  readonly messages: readonly ShownMessage[];
  readonly cursor?: string | undefined;
}

/** The messages of a topic, by state and a page at a time, and what finds one of them. */
export function MessageList({
  topic,
  query,
  stats,
}: {
  topic: string;
  query: URLSearchParams;
  stats: Json<TopicStats>;
}): JSX.Element {
  const t = text();
  const state = STATES.find((one) => one === query.get('state')) ?? 'scheduled';
  const sought = { tag: query.get('tag') ?? undefined, key: query.get('key') ?? undefined };
  const listed: Listed = { topic, state, ...sought };
  const counts = { ...stats, 'in-flight': stats.inFlight };
  return (
    <Card title={t.topic.messages} aside={<Search listed={listed} />}>
      <Tabs
        label={t.topic.messages}
        chosen={state}
        href={(one) =>
          href(['topics', topic], { state: one, ...sought, ...(one === 'finished' && { tag: undefined }) })
        }
        tabs={STATES.map((id) => ({
          id,
          name: (
            <>
              {t.states[id]} <span class="count">{compact(counts[id])}</span>
            </>
          ),
        }))}
      />
      <Messages key={JSON.stringify(listed)} listed={listed} />
    </Card>
  );
}

/** Which messages are listed. */
interface Listed {
  readonly topic: string;
  readonly state: PeekState;
  readonly tag: string | undefined;
  readonly key: string | undefined;
}

const WAYS = ['id', 'key', 'tag'] as const;

function Search({ listed }: { listed: Listed }): JSX.Element {
  const t = text();
  const { topic, state, tag } = listed;
  const names = { id: t.topic.byId, key: t.topic.byKey, tag: t.topic.byTag };
  const [by, setBy] = useState(() => WAYS.find((way) => way !== 'id' && listed[way] !== undefined) ?? 'id');
  const [wanted, setWanted] = useState(tag ?? listed.key ?? '');
  const [key, setKey] = useState('');
  const search = (event: Event): void => {
    event.preventDefault();
    const sought = wanted.trim();
    if (by === 'tag')
      go(['topics', topic], { state: state === 'finished' ? 'scheduled' : state, tag: sought || undefined });
    else if (by === 'key') go(['topics', topic], { state, key: sought || undefined });
    else if (sought !== '') go(['topics', topic, 'messages', sought], { key: key.trim() || undefined });
  };
  return (
    <form class="search" role="search" onSubmit={search}>
      <select
        aria-label={t.actions.search}
        value={by}
        onChange={({ currentTarget }) => setBy(currentTarget.value as typeof by)}
      >
        {WAYS.map((way) => (
          <option key={way} value={way}>
            {names[way]}
          </option>
        ))}
      </select>
      <Field name={names[by]} type="search" value={wanted} change={setWanted} />
      {by === 'id' && <Field name={t.topic.byKey} type="search" value={key} change={setKey} />}
      <button type="submit" class="button button-plain">
        {t.actions.search}
      </button>
    </form>
  );
}

function Messages({ listed }: { listed: Listed }): JSX.Element {
  const { topic, state } = listed;
  const t = text();
  return (
    <Pages<Page, Message>
      pathOf={(cursor) => pathOf('api/messages', { ...listed, cursor })}
      toPage={({ messages, cursor }) => ({ rows: messages, cursor })}
    >
      {(messages, hasMore) => {
        // One that was moved meanwhile may be on two pages.
        const unique = [...new Map(messages.map((message) => [nameOf(message), message])).values()];
        return unique.length === 0 ? (
          <Empty>{hasMore ? t.state.nothingYet : t.state.nothing}</Empty>
        ) : (
          <Table label={t.states[state]} columns={columns(topic, state)} rows={unique} keyOf={nameOf} />
        );
      }}
    </Pages>
  );
}

function nameOf({ id, key }: Message): string {
  return `${id} ${key}`;
}

/** Where a message is shown. */
export function messageHref(topic: string, { id, key }: { id: string; key: string }): string {
  return href(['topics', topic, 'messages', id], { key: key === id ? undefined : key });
}

function columns(topic: string, state: PeekState): Column<Message>[] {
  const t = text();
  return [
    {
      name: t.topic.id,
      cell: (message) => (
        <a class="mono strong" href={messageHref(topic, message)}>
          {message.id}
        </a>
      ),
    },
    {
      name: t.topic.key,
      isSecondary: true,
      cell: ({ id, key }) => (key === id ? t.state.none : <span class="mono">{key}</span>),
    },
    { name: t.topic.at[state], cell: ({ at }) => <Time at={at} /> },
    { name: t.topic.attempts, isNumber: true, isSecondary: true, cell: ({ attempts }) => attempts },
    {
      name: t.topic.why,
      isSecondary: true,
      cell: ({ failure, outcome, tags }) => (
        <span class="clip">
          {failure ? `${failure.name}: ${failure.message}` : outcome && t.message.storyFinished[outcome]}{' '}
          {tags.map((tag) => (
            <Badge key={tag}>{tag}</Badge>
          ))}
        </span>
      ),
    },
  ];
}
