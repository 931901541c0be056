import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { QueueEvents } from '../../../lib/events/queue-events.interface.js';
import { FLEET_KINDS, type FleetKind, decodeEntry, encodeEntry, encodeEvent } from '../../../lib/events/fleet-codec.js';

const AT = Date.UTC(2026, 0, 1);
const DELIVERY = { topic: 'jobs', partition: 3, id: 'a', key: 'k', attempt: 2 };
const ENDED = { ...DELIVERY, duration: 12.34 };

const EVENTS: { readonly [K in FleetKind]: QueueEvents[K] } = {
  published: { topic: 'jobs', partition: 3, id: 'a', dueAt: new Date(AT + 5), duplicate: true },
  delivered: { ...DELIVERY, lateness: 0.5 },
  acked: ENDED,
  retried: { ...ENDED, delay: 1000, error: Object.assign(new TypeError('no'), { code: 'E_NO' }) },
  dead: { ...ENDED, failure: { reason: 'failed', name: 'Error', message: 'no', stack: 'long' }, blocksKey: true },
  cancelled: ENDED,
  replaced: ENDED,
  released: { ...ENDED, key: 'a' },
  stale: DELIVERY,
  ownership: { topic: 'jobs', partition: 3, owned: true },
  missed: {
    topic: 'jobs',
    partition: 3,
    schedule: 'tick',
    reason: 'outage',
    occurrences: 30,
    first: new Date(AT - 60_000),
    last: new Date(AT - 1000),
  },
};

function roundTrip<K extends FleetKind>(kind: K, event: QueueEvents[K]) {
  const [decoded] = decodeEntry(encodeEntry(AT, [encodeEvent(kind, event, 0.4)]), 'me');
  return decoded;
}

describe('the encoding of fleet events', () => {
  it.each(FLEET_KINDS.filter((kind) => kind !== 'retried' && kind !== 'dead'))('keeps all of: %s', (kind) => {
    expect(roundTrip(kind, EVENTS[kind])).toEqual({ kind, process: 'me', at: new Date(AT), ...EVENTS[kind] });
  });

  it('keeps the error without its stack', () => {
    const { error: _error, ...retried } = EVENTS.retried;
    const origin = { process: 'me', at: new Date(AT) };
    expect(roundTrip('retried', EVENTS.retried)).toEqual({
      kind: 'retried',
      ...origin,
      ...retried,
      error: { name: 'TypeError', message: 'no', code: 'E_NO' },
    });
    expect(roundTrip('dead', EVENTS.dead)).toEqual({
      kind: 'dead',
      ...origin,
      ...ENDED,
      failure: { reason: 'failed', name: 'Error', message: 'no' },
      blocksKey: true,
    });
  });

  it.each([
    { what: 'a long message', error: new Error('x'.repeat(5000)), name: 'Error', message: 'x'.repeat(200) },
    { what: 'no error at all', error: undefined, name: 'undefined', message: 'undefined' },
    { what: 'a string', error: 'down', name: 'string', message: "'down'" },
  ])('accepts whatever was thrown: $what', ({ error, name, message }) => {
    expect(roundTrip('retried', { ...EVENTS.retried, error })).toMatchObject({ error: { name, message } });
  });

  it('keeps the time of each event of an entry', () => {
    const events = [0, 3, 7].map((later) => encodeEvent('acked', ENDED, later));
    const times = decodeEntry(encodeEntry(AT, events), 'me').map((event) => event.kind !== 'gap' && event.at.getTime());
    expect(times).toEqual([AT, AT + 3, AT + 7]);
  });

  it('leaves out kinds that it does not know', () => {
    const text = encodeEntry(AT, [
      encodeEvent('stale', DELIVERY, 0),
      [99, 0, 'jobs', 3, 'new'],
      encodeEvent('acked', ENDED, 1),
    ]);
    expect(decodeEntry(text, 'me').map(({ kind }) => kind)).toEqual(['stale', 'acked']);
  });

  it('is as docs/internals/redis-keys.md shows it', () => {
    const delivery = { topic: 'order.timeout', partition: 3, id: '42', key: '42', attempt: 1 };
    const events = [
      encodeEvent('delivered', { ...delivery, lateness: 0.4123 }, 0),
      encodeEvent('acked', { ...delivery, duration: 1.8701 }, 2),
    ];
    expect(readFileSync('docs/internals/redis-keys.md', 'utf8')).toContain(
      `\n${encodeEntry(1_767_268_800_000, events)}\n`,
    );
  });
});
