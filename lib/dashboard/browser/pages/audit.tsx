import type { JSX } from 'preact';
import type { AuditEntries } from '../../../events/audit-log.js';
import { pathOf } from '../api.js';
import { shortDateTime, withLocalTimes } from '../format.js';
import type { Json } from '../json.js';
import { visible } from '../names.js';
import { Pages } from '../pages.js';
import { Badge, Card, Empty } from '../parts.js';
import { Table } from '../tables.js';
import { text } from '../texts/text.js';

const TONES = { done: 'good', failed: 'bad', begun: 'accent' } as const;

type Entry = Json<AuditEntries>['entries'][number];

export function AuditPage(): JSX.Element {
  const t = text();
  return (
    <>
      <h1>{t.nav.audit}</h1>
      <Card>
        <Pages<AuditEntries, Entry>
          pathOf={(cursor) => pathOf('api/audit', { cursor })}
          toPage={({ entries, cursor }) => ({ rows: entries, cursor })}
        >
          {(entries) =>
            entries.length === 0 ? (
              <Empty>{t.audit.none}</Empty>
            ) : (
              <Table
                label={t.nav.audit}
                rows={entries}
                keyOf={({ operation, phase }) => `${operation} ${phase}`}
                columns={[
                  { name: t.audit.at, cell: ({ at }) => <span class="nowrap">{shortDateTime(at)}</span> },
                  { name: t.audit.actor, cell: ({ actor }) => actor ?? <span class="muted">{t.audit.nobody}</span> },
                  {
                    name: t.audit.action,
                    cell: ({ action, phase }) => (
                      <>
                        <strong>{action}</strong> <Badge tone={TONES[phase]}>{t.audit.phases[phase]}</Badge>
                      </>
                    ),
                  },
                  { name: t.audit.topic, cell: ({ topic }) => topic },
                  {
                    name: t.audit.given,
                    isSecondary: true,
                    cell: ({ given }) => <span class="mono clip">{inWords(given)}</span>,
                  },
                  {
                    name: t.audit.result,
                    isSecondary: true,
                    cell: ({ result, error }) => (
                      <span class="mono clip">{error === undefined ? inWords(result) : withLocalTimes(error)}</span>
                    ),
                  },
                ]}
              />
            )
          }
        </Pages>
      </Card>
    </>
  );
}

/** Returns a value without braces and quotes, such as 'id: order-42, delay: 600000'. */
function inWords(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'object') return JSON.stringify(value);
  const words = Object.entries(value).map(([name, one]) => {
    if (name === 'deliverAt' && typeof one === 'number') return `${name}: ${shortDateTime(one)}`;
    return `${name}: ${typeof one === 'string' ? one : JSON.stringify(one)}`;
  });
  return withLocalTimes(visible(words.join(', ')));
}
