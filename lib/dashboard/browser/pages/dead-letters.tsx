import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DeadLetterGroup, DeadLetterGroups } from '../../../admin/dead-letter-groups.js';
import { act, pathOf, useLook } from '../api.js';
import { BulkDialog } from '../bulk-dialog.js';
import { ActionButton, AskButtons, Field } from '../controls.js';
import { compact } from '../format.js';
import type { Json } from '../json.js';
import { visible } from '../names.js';
import { Badge, Card, Crumbs, Empty, Name, Shown, Time } from '../parts.js';
import { href, messageHref } from '../router.js';
import { may } from '../session.js';
import { text } from '../texts/text.js';

type Group = Json<DeadLetterGroup>;

/** Groups shown at first: after the largest ones, a page of a thousand helps nobody. */
const FIRST_GROUPS = 20;

export function DeadLettersPage({ topic }: { topic: string }): JSX.Element {
  const t = text();
  const look = useLook<DeadLetterGroups>(pathOf('api/dead', { topic }));
  return (
    <>
      <Crumbs
        of={[
          [t.nav.topics, href([])],
          [topic, href(['topics', topic])],
        ]}
      />
      <h1>{t.dead.title}</h1>
      <Shown look={look}>
        {({ total, groups, ungrouped }) => (
          <>
            <div class="page-head">
              <p class="muted">
                {t.dead.total(total)} {total > 0 && t.dead.groupsHint}
              </p>
              {total > 0 && <GroupActions topic={topic} filter={{ all: true }} />}
            </div>
            {total === 0 && (
              <Card>
                <Empty>{t.dead.none}</Empty>
              </Card>
            )}
            <Groups topic={topic} groups={groups} />
            {ungrouped > 0 && <p class="muted">{t.dead.ungrouped(ungrouped)}</p>}
          </>
        )}
      </Shown>
    </>
  );
}

function Groups({ topic, groups }: { topic: string; groups: readonly Group[] }): JSX.Element {
  const t = text();
  const [sought, setSought] = useState('');
  const [isWhole, setIsWhole] = useState(false);
  const wanted = sought.trim().toLowerCase();
  const found = groups.filter(({ name, code, pattern }) =>
    [name, code, pattern].some((one) => one?.toLowerCase().includes(wanted)),
  );
  const shown = isWhole ? found : found.slice(0, FIRST_GROUPS);
  return (
    <>
      {groups.length > 1 && (
        <div class="page-head">
          <Field name={t.dead.search} type="search" value={sought} change={setSought} />
          {wanted !== '' && <GroupActions topic={topic} filter={{ text: sought.trim() }} />}
        </div>
      )}
      {shown.map((group) => (
        <GroupCard key={group.fingerprint} topic={topic} group={group} />
      ))}
      {found.length > shown.length && (
        <button type="button" class="button button-plain" onClick={() => setIsWhole(true)}>
          {t.dead.showAll(found.length)}
        </button>
      )}
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
              <Name of={example.id} />
            </a>
          </dd>
        </div>
      </dl>
      <GroupActions topic={topic} filter={{ fingerprint }} example={example} />
    </Card>
  );
}

interface GroupActionsProps {
  readonly topic: string;
  /** Selects the dead letters that are meant. */
  readonly filter: { readonly fingerprint: string } | { readonly text: string } | { readonly all: true };
  readonly example?: { readonly id: string; readonly key: string };
}

function GroupActions({ topic, filter, example }: GroupActionsProps): JSX.Element {
  const t = text();
  const [asked, setAsked] = useState<'requeue' | 'remove'>();
  const [tried, setTried] = useState('');
  return (
    <div class="actions">
      {example && may('requeue') && (
        <ActionButton
          kind="primary"
          run={async () => {
            await act('api/requeue', { topic, ...example });
            setTried(t.dead.tried(visible(example.id)));
          }}
        >
          {t.actions.tryOne}
        </ActionButton>
      )}
      <AskButtons actions={['requeue', 'remove']} names={t.bulk.all} ask={setAsked} />
      <span role="status" class="told">
        {tried}
      </span>
      {asked && <BulkDialog action={asked} topic={topic} body={{ filter }} close={() => setAsked(undefined)} />}
    </div>
  );
}
