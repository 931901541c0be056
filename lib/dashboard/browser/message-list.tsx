import type { JSX } from 'preact';
import type { PeekState } from '../../admin/peek.js';
import type { TopicStats } from '../../admin/topic-stats.js';
import type { ShownMessage } from '../redaction.js';
import { pathOf } from './api.js';
import { compact } from './format.js';
import type { Json } from './json.js';
import { Pages } from './pages.js';
import { Badge, Card, Empty, Name, Time } from './parts.js';
import { href, hrefWith, messageHref } from './router.js';
import { SearchForm, SearchResults, type Sought, soughtIn } from './search.js';
import { type Column, Table, Tabs } from './tables.js';
import { text } from './texts/text.js';

const STATES: readonly PeekState[] = ['scheduled', 'due', 'in-flight', 'dead', 'finished'];

type Message = Json<ShownMessage>;

/** Messages per page. */
const SHOWN = 20;

interface Page {
  readonly messages: readonly ShownMessage[];
  readonly cursor?: string | undefined;
}

interface ListProps {
  readonly topic: string;
  readonly state: PeekState;
}

/** The messages of a topic, by state and page by page, and a form that finds some of them. */
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
  const sought = soughtIn(query);
  const states = STATES.filter((state) => sought === undefined || isSearched(state, sought));
  const state = states.find((one) => one === query.get('state')) ?? 'scheduled';
  const counts = { ...stats, 'in-flight': stats.inFlight };
  const name = JSON.stringify({ topic, state, sought });
  return (
    <Card title={t.topic.messages} aside={<SearchForm key={name} topic={topic} state={state} sought={sought ?? {}} />}>
      <Tabs
        label={t.topic.messages}
        chosen={state}
        href={(one) => hrefWith({ state: one })}
        tabs={states.map((id) => ({
          id,
          name: (
            <>
              {t.states[id]} {sought === undefined && <span class="count">{compact(counts[id])}</span>}
            </>
          ),
        }))}
      />
      {sought ? (
        <>
          <Chips sought={sought} />
          <SearchResults key={name} topic={topic} state={state} sought={sought}>
            {(messages, isOver) => <Rows topic={topic} state={state} messages={messages} isOver={isOver} />}
          </SearchResults>
        </>
      ) : (
        <Listed key={name} topic={topic} state={state} />
      )}
    </Card>
  );
}

/** Whether messages of a state can be searched. Due messages are among the waiting ones; finished messages have no tags any more. */
function isSearched(state: PeekState, { tag }: Sought): boolean {
  return state !== 'due' && (tag === undefined || state !== 'finished');
}

/** The terms of the search, and the way back to all messages. */
function Chips({ sought: { tag, key, text: words, field, value } }: { sought: Sought }): JSX.Element {
  const t = text();
  const chips = [
    tag !== undefined && `${t.search.ways.tag}: ${tag}`,
    key !== undefined && `${t.search.ways.key}: ${key}`,
    words !== undefined && `${t.search.ways.text}: ${words}`,
    field !== undefined && `${field} = ${value}`,
  ].filter((chip) => chip !== false);
  const none = { tag: undefined, key: undefined, text: undefined, field: undefined, value: undefined };
  return (
    <div class="actions">
      {chips.map((chip) => (
        <Badge key={chip} tone="accent">
          <Name of={chip} />
        </Badge>
      ))}
      <a href={hrefWith(none)}>{t.search.end}</a>
    </div>
  );
}

function Listed({ topic, state }: ListProps): JSX.Element {
  return (
    <Pages<Page, Message>
      pathOf={(cursor) => pathOf('api/messages', { topic, state, limit: SHOWN, cursor })}
      toPage={({ messages, cursor }) => ({ rows: messages, cursor })}
    >
      {(messages, hasMore) => <Rows topic={topic} state={state} messages={messages} isOver={!hasMore} />}
    </Pages>
  );
}

function Rows({
  topic,
  state,
  messages,
  isOver,
}: ListProps & { messages: readonly Message[]; isOver: boolean }): JSX.Element {
  const t = text();
  // A message that was moved in the meantime can be on two pages.
  const unique = [...new Map(messages.map((message) => [nameOf(message), message])).values()];
  return unique.length === 0 ? (
    <Empty>{isOver ? t.state.nothing : t.state.nothingYet}</Empty>
  ) : (
    <Table label={t.states[state]} columns={columns(topic, state)} rows={unique} keyOf={nameOf} />
  );
}

function nameOf({ id, key }: Message): string {
  return `${id} ${key}`;
}

function columns(topic: string, state: PeekState): Column<Message>[] {
  const t = text();
  const lastColumn: Column<Message> = {
    name: state === 'finished' ? t.topic.outcome : t.topic.why,
    isSecondary: true,
    cell: ({ failure, outcome }) => (
      <span class="clip">
        {outcome !== undefined && <Badge tone="good">{t.message.storyFinished[outcome] ?? outcome}</Badge>}{' '}
        {failure && `${failure.name}: ${failure.message}`}
      </span>
    ),
  };
  return [
    {
      name: t.topic.id,
      cell: (message) => (
        <a class="mono strong" href={messageHref(topic, message)}>
          <Name of={message.id} />
        </a>
      ),
    },
    {
      name: t.topic.key,
      isSecondary: true,
      cell: ({ id, key }) =>
        key === id ? (
          <span class="zero">{t.state.none}</span>
        ) : (
          <span class="mono">
            <Name of={key} />
          </span>
        ),
    },
    { name: t.topic.at[state], cell: ({ at }) => <Time at={at} /> },
    { name: t.topic.attempts, isNumber: true, isSecondary: true, cell: ({ attempts }) => attempts },
    {
      name: t.message.tags,
      isSecondary: true,
      cell: ({ tags }) =>
        tags.map((tag) => (
          <a key={tag} href={href(['topics', topic], { tag })}>
            <Badge>
              <Name of={tag} />
            </Badge>
          </a>
        )),
    },
    lastColumn,
  ];
}
