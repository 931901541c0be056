import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RemoveResult } from '../../../admin/bulk-options.js';
import type { DeadLetterGroup, DeadLetterGroups } from '../../../admin/dead-letter-groups.js';
import type { Operation } from '../../operations.js';
import { act, pathOf, useLook } from '../api.js';
import { compact } from '../format.js';
import type { Json } from '../json.js';
import { messageHref } from '../message-list.js';
import { follow } from '../operations.js';
import { ActionButton, Badge, Card, Dialog, Empty, Field, Shown, Time } from '../parts.js';
import { href } from '../router.js';
import { mayOperate } from '../session.js';
import { text } from '../texts/text.js';

type Group = Json<DeadLetterGroup>;

export function DeadLettersPage({ topic }: { topic: string }): JSX.Element {
  const t = text();
  const look = useLook<DeadLetterGroups>(pathOf('api/dead', { topic }));
  return (
    <>
      <nav class="crumbs" aria-label={t.actions.back}>
        <a href={href([])}>{t.nav.topics}</a> <span aria-hidden="true">/</span>{' '}
        <a href={href(['topics', topic])}>{topic}</a> <span aria-hidden="true">/</span>
      </nav>
      <h1>{t.dead.title}</h1>
      <Shown look={look}>
        {({ total, groups, ungrouped }) => (
          <>
            <div class="page-head">
              <p class="muted">
                {t.dead.total(total)} {total > 0 && t.dead.groupsHint}
              </p>
              {mayOperate() && total > 0 && <GroupActions topic={topic} filter={{}} />}
            </div>
            {total === 0 && <Empty>{t.dead.none}</Empty>}
            {groups.map((group) => (
              <GroupCard key={group.fingerprint} topic={topic} group={group} />
            ))}
            {ungrouped > 0 && <p class="muted">{t.dead.ungrouped(ungrouped)}</p>}
          </>
        )}
      </Shown>
    </>
  );
}

function GroupCard({ topic, group }: { topic: string; group: Group }): JSX.Element {
  const t = text();
  const { fingerprint, reason, name, code, pattern, count, firstAt, lastAt, example } = group;
  return (
    <Card
      title={
        <>
          <span class="big-count">{compact(count)}</span> {name}
          {code && (
            <>
              {' '}
              <code>{code}</code>
            </>
          )}
        </>
      }
      aside={<Badge tone="bad">{t.dead.reasons[reason] ?? reason}</Badge>}
    >
      <p class="mono wrap">{pattern}</p>
      <dl class="inline-facts">
        <div>
          <dt>{t.dead.first}</dt>
          <dd>
            <Time at={firstAt} />
          </dd>
        </div>
        <div>
          <dt>{t.dead.last}</dt>
          <dd>
            <Time at={lastAt} />
          </dd>
        </div>
        <div>
          <dt>{t.dead.example}</dt>
          <dd>
            <a class="mono" href={messageHref(topic, example)}>
              {example.id}
            </a>
          </dd>
        </div>
      </dl>
      {mayOperate() && <GroupActions topic={topic} filter={{ fingerprint }} example={example} />}
    </Card>
  );
}

interface GroupActionsProps {
  readonly topic: string;
  /** Which dead letters are meant. */
  readonly filter: { readonly fingerprint?: string };
  readonly example?: { readonly id: string; readonly key: string };
}

function GroupActions({ topic, filter, example }: GroupActionsProps): JSX.Element {
  const t = text();
  const [asked, setAsked] = useState<'requeue' | 'remove'>();
  const [tried, setTried] = useState('');
  return (
    <div class="actions">
      {example && (
        <ActionButton
          kind="primary"
          run={async () => {
            await act('api/requeue', { topic, ...example });
            setTried(t.dead.tried(example.id));
          }}
        >
          {t.actions.tryOne}
        </ActionButton>
      )}
      <button type="button" class="button button-plain" onClick={() => setAsked('requeue')}>
        {t.actions.requeueAll}
      </button>
      <button type="button" class="button button-danger" onClick={() => setAsked('remove')}>
        {t.actions.removeAll}
      </button>
      <span role="status" class="told">
        {tried}
      </span>
      {asked && <BulkDialog action={asked} topic={topic} filter={filter} close={() => setAsked(undefined)} />}
    </div>
  );
}

/** Counts first what is meant, then begins, if need be slowly. */
function BulkDialog({
  action,
  topic,
  filter,
  close,
}: GroupActionsProps & { action: 'requeue' | 'remove'; close: () => void }): JSX.Element {
  const t = text();
  const [count, setCount] = useState<number>();
  const [rate, setRate] = useState('');
  const about = { topic, filter, ...(rate !== '' && { rate: Number(rate) }) };
  const countFirst = async (): Promise<void> => {
    setCount((await act<RemoveResult>(`api/dead/${action}`, { ...about, dryRun: true })).matched);
  };
  const begin = async (): Promise<void> => {
    const begun = await act<{ operation: Operation }>(`api/dead/${action}`, { ...about, dryRun: false, total: count });
    await follow(begun.operation);
    close();
  };
  const name = action === 'requeue' ? t.actions.requeueAll : t.actions.removeAll;
  return (
    <Dialog title={`${name} · ${topic}`} close={close}>
      {count === undefined ? (
        <div class="dialog-actions">
          <ActionButton kind="primary" run={countFirst}>
            {t.actions.count}
          </ActionButton>
        </div>
      ) : (
        <>
          <p class="strong">{action === 'requeue' ? t.dead.wouldRequeue(count) : t.dead.wouldRemove(count)}</p>
          <Field name={t.dead.rate} hint={t.dead.rateHint} type="number" value={rate} change={setRate} />
          <div class="dialog-actions">
            <ActionButton kind={action === 'requeue' ? 'primary' : 'danger'} disabled={count === 0} run={begin}>
              {name}
            </ActionButton>
          </div>
        </>
      )}
    </Dialog>
  );
}
