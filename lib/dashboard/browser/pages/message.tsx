import type { JSX } from 'preact';
import type { Explanation } from '../../../admin/explain.js';
import type { ShownMessage } from '../../redaction.js';
import { pathOf, useLook } from '../api.js';
import { duration, now, shortDateTime, withLocalTimes } from '../format.js';
import type { Json } from '../json.js';
import { MessageActions } from '../message-actions.js';
import { Story } from '../message-story.js';
import { Badge, Card, Code, Crumbs, Figure, Name, Shown } from '../parts.js';
import { visible } from '../names.js';
import { href, messageHref } from '../router.js';
import { seesPayloads, session } from '../session.js';
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
      <Crumbs
        of={[
          [t.nav.topics, href([])],
          [topic, href(['topics', topic])],
        ]}
      />
      <Shown look={look}>
        {({ message, explanation }) => (
          <>
            <div class="page-head">
              <h1 class="wrap">
                {t.message.title(visible(id))}{' '}
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
          <span class="small-figure mono">
            <Name of={key} />
          </span>
        </Figure>
      )}
      <Figure name={t.message.partition}>{partition}</Figure>
      <Figure name={t.message.deliveries}>{deliveries}</Figure>
      <Figure name={t.message.attempts}>{attempts}</Figure>
      {tags.length > 0 && (
        <Figure name={t.message.tags}>
          {tags.map((tag) => (
            <a key={tag} href={href(['topics', message.topic], { tag })}>
              <Badge>
                <Name of={tag} />
              </Badge>
            </a>
          ))}
        </Figure>
      )}
    </dl>
  );
}

/** Answer of `explain`, in words. */
function Why({ explanation: { cause, also, facts, advice } }: { explanation: Json<Explanation> }): JSX.Element {
  const t = text();
  const own = t.advice[cause];
  const { expiresAt } = facts;
  const isExpired = expiresAt !== undefined && Date.parse(expiresAt) <= now();
  return (
    <Card title={t.message.why}>
      <p class="cause">
        <strong>{t.causes[cause]}</strong> <code>{cause}</code>
      </p>
      <p>{own ?? withLocalTimes(advice)}</p>
      {/* The advice of the server says it, too. */}
      {own !== undefined && expiresAt !== undefined && (
        <p class={isExpired ? 'bad' : 'muted'}>
          {t.message[isExpired ? 'expired' : 'expires'](shortDateTime(expiresAt))}
        </p>
      )}
      {facts.before !== undefined && facts.before > 0 && <p class="muted">{t.message.before(facts.before)}</p>}
      {facts.blockedBy !== undefined && (
        <p>
          {t.message.blockedBy}{' '}
          <a class="mono" href={messageHref(facts.topic, { id: facts.blockedBy, key: facts.key ?? facts.blockedBy })}>
            <Name of={facts.blockedBy} />
          </a>
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

function Content({ message }: { message: Json<ShownMessage> }): JSX.Element {
  const t = text();
  const trace = traceOf(message.headers);
  const isEmpty = Object.keys(message.headers).length === 0;
  return (
    <Card title={t.message.payload}>
      {message.redacted && <p class="hint">{t.message.redacted}</p>}
      <Payload message={message} />
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

/** The payload, or why it is not shown. */
function Payload({ message: { payload } }: { message: Json<ShownMessage> }): JSX.Element {
  const t = text();
  if (!seesPayloads()) return <p class="hint">{t.message.hidden}</p>;
  return payload === undefined ? <p>{t.message.unreadable}</p> : <Code value={payload} />;
}

/** Returns the address of the trace in which a message was published, by its W3C trace context. */
function traceOf(headers: Readonly<Record<string, string>>): string | undefined {
  const { traceUrl } = session.value ?? {};
  const [, traceId] = /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(headers['traceparent'] ?? '') ?? [];
  return traceUrl !== undefined && traceId !== undefined ? traceUrl.replaceAll('{traceId}', traceId) : undefined;
}
