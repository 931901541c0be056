import type { JSX } from 'preact';
import type { Explanation } from '../../../admin/explain.js';
import type { Failure as StoredFailure } from '../../../messages/failure.js';
import type { ShownMessage } from '../../redaction.js';
import { pathOf, useLook } from '../api.js';
import { dateTime, duration, exactTime, now, processName, shortDateTime } from '../format.js';
import type { Json } from '../json.js';
import { MessageActions } from '../message-actions.js';
import { Badge, Card, Code, Figure, Shown } from '../parts.js';
import { href } from '../router.js';
import { session } from '../session.js';
import { language } from '../texts/language.js';
import { text } from '../texts/text.js';

interface MessageLook {
  readonly message?: ShownMessage | undefined;
  readonly explanation: Explanation;
}

const STATE_TONES = { scheduled: 'accent', 'in-flight': 'warning', dead: 'bad', finished: 'good' } as const;

export function MessagePage(props: { topic: string; id: string; messageKey: string | undefined }): JSX.Element {
  const { topic, id, messageKey } = props;
  const t = text();
  const look = useLook<MessageLook>(pathOf('api/message', { topic, id, key: messageKey }));
  return (
    <>
      <nav class="crumbs" aria-label={t.actions.back}>
        <a href={href([])}>{t.nav.topics}</a> <span aria-hidden="true">/</span>{' '}
        <a href={href(['topics', topic])}>{topic}</a> <span aria-hidden="true">/</span>
      </nav>
      <Shown look={look}>
        {({ message, explanation }) => (
          <>
            <div class="page-head">
              <h1 class="wrap">
                {t.message.title(id)}{' '}
                {message && <Badge tone={STATE_TONES[message.state]}>{t.states[message.state]}</Badge>}
              </h1>
              {message && <MessageActions message={message} />}
            </div>
            {message && <Facts message={message} />}
            <Why explanation={explanation} />
            {message && (
              <div class="columns">
                <Story message={message} explanation={explanation} />
                <Content message={message} />
              </div>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

function Facts({ message }: { message: Json<ShownMessage> }): JSX.Element {
  const t = text();
  const { state, at, id, key, partition, tags, deliveries, attempts, publishedAt } = message;
  const left = Date.parse(at) - now();
  return (
    <dl class="figures">
      {state === 'scheduled' && (
        <Figure name={left >= 0 ? t.message.dueIn : t.message.overdueSince} tone={left >= 0 ? 'accent' : 'warning'}>
          <span class="countdown" role="timer">
            {duration(Math.abs(left), 4)}
          </span>
        </Figure>
      )}
      <Figure name={state === 'scheduled' ? t.message.dueAt : t.topic.at[state]}>
        <span class="small-figure">{shortDateTime(at)}</span>
      </Figure>
      {publishedAt !== undefined && (
        <Figure name={t.message.published}>
          <span class="small-figure">{shortDateTime(publishedAt)}</span>
        </Figure>
      )}
      {key !== id && (
        <Figure name={t.message.key}>
          <span class="small-figure mono wrap">{key}</span>
        </Figure>
      )}
      <Figure name={t.message.partition}>{partition}</Figure>
      <Figure name={t.message.deliveries}>{deliveries}</Figure>
      <Figure name={t.message.attempts}>{attempts}</Figure>
      {tags.length > 0 && (
        <Figure name={t.message.tags}>
          {tags.map((tag) => (
            <a key={tag} href={href(['topics', message.topic], { tag })}>
              <Badge>{tag}</Badge>
            </a>
          ))}
        </Figure>
      )}
    </dl>
  );
}

/** What `explain` answers, in words. */
function Why({ explanation: { cause, also, facts, advice } }: { explanation: Json<Explanation> }): JSX.Element {
  const t = text();
  return (
    <Card title={t.message.why}>
      <p class="cause">
        <strong>{t.causes[cause]}</strong> <code>{cause}</code>
      </p>
      {language.value === 'en' ? <p>{advice}</p> : <p>{t.advice[cause] ?? advice}</p>}
      {facts.before !== undefined && facts.before > 0 && <p class="muted">{t.message.before(facts.before)}</p>}
      {facts.blockedBy !== undefined && (
        <p>
          <a href={href(['topics', facts.topic, 'messages', facts.blockedBy], { key: facts.key })}>{facts.blockedBy}</a>
        </p>
      )}
      {also.length > 0 && (
        <p class="muted">
          {t.message.also} {also.map((one) => t.causes[one]).join(', ')}
        </p>
      )}
    </Card>
  );
}

interface StoryStep {
  readonly at: string | undefined;
  readonly title: string;
  readonly tone: 'neutral' | 'good' | 'bad' | 'accent';
  readonly note?: string | undefined;
  readonly failure?: Json<StoredFailure> | undefined;
}

function Story({ message, explanation }: { message: Json<ShownMessage>; explanation: Json<Explanation> }): JSX.Element {
  const t = text();
  return (
    <Card title={t.message.story}>
      <ol class="story">
        {storyOf(message, explanation).map(({ at, title, tone, note, failure }, i) => (
          <li key={i} class={`story-${tone}`}>
            <div class="story-head">
              <strong>{title}</strong>
              {at !== undefined && (
                <time dateTime={at} title={dateTime(at)}>
                  {exactTime(at)}
                </time>
              )}
            </div>
            {note && <p class="wrap">{note}</p>}
            {failure && <FailureDetails failure={failure} />}
          </li>
        ))}
      </ol>
    </Card>
  );
}

function storyOf(message: Json<ShownMessage>, { facts }: Json<Explanation>): StoryStep[] {
  const t = text();
  const { publishedAt, history, attempts, failure, outcome } = message;
  const steps: StoryStep[] = [];
  if (publishedAt !== undefined) steps.push({ at: publishedAt, title: t.message.storyPublished, tone: 'neutral' });
  const omitted = attempts - history.length - (outcome === 'acked' ? 1 : 0);
  if (omitted > 0 && history.length > 0)
    steps.push({ at: undefined, title: t.message.omitted(omitted), tone: 'neutral' });
  for (const [i, one] of history.toReversed().entries()) {
    const isLatest = i === history.length - 1;
    steps.push({
      at: one.at,
      title: t.message.storyAttempt(one.attempt),
      tone: 'bad',
      note: `${one.name}: ${one.message} (${t.message.storyRan(duration(one.duration))})`,
      failure: isLatest && failure?.reason !== 'crashed' ? failure : undefined,
    });
  }
  return [...steps, ...endOfStory(message, facts.runner)];
}

/** Where it stands now. */
function endOfStory(message: Json<ShownMessage>, runner: string | undefined): StoryStep[] {
  const t = text();
  const { state, at, history, failure } = message;
  switch (state) {
    case 'scheduled':
      return [{ at, title: t.message.storyDue, tone: 'accent' }];
    case 'in-flight': {
      const note = runner === undefined ? undefined : processName(runner);
      return [
        { at: undefined, title: t.message.storyRunning, tone: 'accent', note },
        { at, title: t.message.storyLease, tone: 'neutral' },
      ];
    }
    case 'dead': {
      const isTold = history.length > 0 && failure?.reason !== 'crashed';
      const note =
        failure && `${t.dead.reasons[failure.reason] ?? failure.reason}: ${failure.name}: ${failure.message}`;
      return [{ at, title: t.message.storyDead, tone: 'bad', note, failure: isTold ? undefined : failure }];
    }
    default:
      return finishedStory(message);
  }
}

function finishedStory({ at, dueAt, outcome, duration: ran, process }: Json<ShownMessage>): StoryStep[] {
  const t = text();
  const told = [
    ran === undefined ? undefined : t.message.storyRan(duration(ran)),
    process === undefined ? undefined : processName(process),
  ];
  const title = (outcome && t.message.storyFinished[outcome]) ?? outcome ?? '';
  const end: StoryStep = { at, title, tone: 'good', note: told.filter(Boolean).join(' · ') };
  return dueAt === undefined ? [end] : [{ at: dueAt, title: t.message.storyDue, tone: 'neutral' }, end];
}

function FailureDetails({ failure }: { failure: Json<StoredFailure> }): JSX.Element | null {
  const t = text();
  const { stack, lastError, issues } = failure;
  return (
    <>
      {stack && (
        <details>
          <summary>{t.message.stack}</summary>
          <Code value={stack} />
        </details>
      )}
      {issues && <Code value={issues} />}
      {lastError && (
        <details>
          <summary>
            {t.message.lastError}: {lastError.name}
          </summary>
          <Code value={lastError.stack ?? lastError.message} />
        </details>
      )}
    </>
  );
}

function Content({ message }: { message: Json<ShownMessage> }): JSX.Element {
  const t = text();
  const trace = traceOf(message.headers);
  const isEmpty = Object.keys(message.headers).length === 0;
  return (
    <Card title={t.message.payload}>
      {message.redacted && <p class="hint">{t.message.redacted}</p>}
      {message.payload === undefined ? <p>{t.message.unreadable}</p> : <Code value={message.payload} />}
      {!isEmpty && (
        <>
          <h3>{t.message.headers}</h3>
          <dl class="headers">
            {Object.entries(message.headers).map(([name, value]) => (
              <div key={name}>
                <dt class="mono">{name}</dt>
                <dd class="mono wrap">{value}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {trace && (
        <p>
          <a href={trace} target="_blank" rel="noreferrer">
            {t.message.trace}
          </a>
        </p>
      )}
    </Card>
  );
}

/** Where the trace is shown that a message was published in, by its W3C trace context. */
function traceOf(headers: Readonly<Record<string, string>>): string | undefined {
  const { traceUrl } = session.value ?? {};
  const [, traceId] = /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(headers['traceparent'] ?? '') ?? [];
  return traceUrl !== undefined && traceId !== undefined ? traceUrl.replaceAll('{traceId}', traceId) : undefined;
}
