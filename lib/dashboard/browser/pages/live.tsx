import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Fleet } from '../../../admin/fleet.js';
import type { FleetEvent } from '../../../events/fleet-event.js';
import { pathOf, useLook } from '../api.js';
import { Field } from '../controls.js';
import { exactTime, processName } from '../format.js';
import type { Json } from '../json.js';
import { Badge, Card, Empty, Name } from '../parts.js';
import { href, messageHref, replaceQuery } from '../router.js';
import { Table } from '../tables.js';
import { text } from '../texts/text.js';
import { isWithoutStream, watch } from '../watch.js';

/** Most events that are shown, the latest ones. */
const KEPT = 200;

/** Time between two updates of the list, in milliseconds. */
const DRAWN_EVERY = 250;

/** Kinds that can be chosen; a gap is always shown. */
const KINDS = Object.keys({
  published: true,
  delivered: true,
  acked: true,
  retried: true,
  dead: true,
  cancelled: true,
  replaced: true,
  released: true,
  stale: true,
  missed: true,
  ownership: true,
} satisfies Record<Exclude<FleetEvent['kind'], 'gap'>, true>);

const TONES: Readonly<Record<string, 'good' | 'warning' | 'bad' | 'accent'>> = {
  acked: 'good',
  retried: 'warning',
  dead: 'bad',
  delivered: 'accent',
  gap: 'warning',
};

interface HeardEvent {
  readonly number: number;
  readonly event: Json<FleetEvent>;
}

export function LivePage({ query }: { query: URLSearchParams }): JSX.Element {
  const t = text();
  const [topic, kind] = [query.get('topic') ?? '', KINDS.find((one) => one === query.get('kind')) ?? ''];
  const [isHeld, setHeld] = useState(false);
  const events = useEvents(topic.trim(), kind, isHeld);
  return (
    <>
      <h1>{t.nav.live}</h1>
      <p class="muted">{t.live.hint}</p>
      <Silent />
      <Card
        aside={
          <div class="search">
            <Field
              name={t.live.topic}
              type="search"
              value={topic}
              change={(value) => replaceQuery({ topic: value || undefined })}
            />
            <label class="inline">
              {t.live.kind}
              <select
                value={kind}
                onChange={({ currentTarget }) => replaceQuery({ kind: currentTarget.value || undefined })}
              >
                <option value="">{t.live.all}</option>
                {KINDS.map((one) => (
                  <option key={one} value={one}>
                    {one}
                  </option>
                ))}
              </select>
            </label>
            <button type="button" class="button button-plain" aria-pressed={isHeld} onClick={() => setHeld(!isHeld)}>
              {isHeld ? t.live.go : t.live.pause}
            </button>
          </div>
        }
      >
        {events.length === 0 ? (
          <Empty>{isWithoutStream.value ? t.live.noStream : t.live.waiting}</Empty>
        ) : (
          <Table
            label={t.nav.live}
            rows={events}
            keyOf={({ number }) => String(number)}
            columns={[
              {
                name: t.live.time,
                cell: ({ event }) => ('at' in event && event.at !== undefined ? exactTime(event.at) : t.state.none),
              },
              {
                name: t.live.kind,
                cell: ({ event }) => <Badge tone={TONES[event.kind] ?? 'neutral'}>{event.kind}</Badge>,
              },
              { name: t.live.what, cell: ({ event }) => <What event={event} /> },
              {
                name: t.live.process,
                isSecondary: true,
                cell: ({ event }) => (
                  <span class="mono">{event.process ? processName(event.process) : t.state.none}</span>
                ),
              },
            ]}
          />
        )}
      </Card>
    </>
  );
}

/** Returns events, the latest first. While they are held back nothing moves, and nothing is lost that fits. */
function useEvents(topic: string, kind: string, isHeld: boolean): readonly HeardEvent[] {
  const heard = useRef<HeardEvent[]>([]);
  const [shown, setShown] = useState<readonly HeardEvent[]>([]);
  useEffect(() => {
    let number = 0;
    heard.current = [];
    setShown([]);
    return watch({
      path: pathOf('api/live', { topic: topic || undefined, kind: kind || undefined }),
      isLive: true,
      told: (event) => {
        heard.current = [{ number: ++number, event: event as Json<FleetEvent> }, ...heard.current].slice(0, KEPT);
      },
    });
  }, [topic, kind]);
  useEffect(() => {
    if (isHeld) return undefined;
    const timer = setInterval(() => setShown(heard.current), DRAWN_EVERY);
    return () => clearInterval(timer);
  }, [isHeld]);
  return shown;
}

function What({ event }: { event: Json<FleetEvent> }): JSX.Element {
  const t = text();
  if (event.kind === 'gap') return <>{t.live.missed(event.missed)}</>;
  const { topic, id, key } = event as { readonly topic?: string; readonly id?: string; readonly key?: string };
  const error =
    (event as { error?: { name: string; message: string } }).error ??
    (event as { failure?: { name: string; message: string } }).failure;
  return (
    <span class="clip">
      {topic !== undefined && <a href={href(['topics', topic])}>{topic}</a>}{' '}
      {topic !== undefined && id !== undefined && (
        <a class="mono" href={messageHref(topic, { id, key: key ?? id })}>
          <Name of={id} />
        </a>
      )}{' '}
      {error && <span class="bad">{`${error.name}: ${error.message}`}</span>}
    </span>
  );
}

/** Names the processes whose events cannot be seen here. */
function Silent(): JSX.Element | null {
  const t = text();
  const { data } = useLook<Fleet>('api/fleet');
  const silent = (data?.processes ?? []).filter(({ fleetEvents }) => fleetEvents !== true);
  if (silent.length === 0) return null;
  return <div class="notice">{t.live.silent(silent.map(({ process }) => processName(process)).join(', '))}</div>;
}
