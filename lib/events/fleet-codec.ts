import type { FleetError, FleetEvent, FleetEvents } from './fleet-event.js';
import type { DeliveryEvent, EndedDelivery, QueueEvents } from './queue-events.interface.js';
import { isDate } from '../checks/kinds.js';
import { type FailureReason, messageOf, toFailure } from '../messages/failure.js';

/** Kinds of events that leave the process. */
export const FLEET_KINDS = [
  'published',
  'delivered',
  'acked',
  'retried',
  'dead',
  'cancelled',
  'replaced',
  'released',
  'stale',
  'ownership',
  'missed',
] as const satisfies readonly (keyof FleetEvents)[];

export type FleetKind = (typeof FLEET_KINDS)[number];

type Value = string | number | null;
/** An encoded event: the kind by its index in {@link FLEET_KINDS}, the time, then the fields of the kind. */
export type EncodedEvent = [kind: number, at: number, topic: string, partition: number, ...rest: Value[]];

const MAX_MESSAGE_LENGTH = 200;

/** @param since milliseconds since the `start` of {@link encodeEntry} */
export function encodeEvent<K extends FleetKind>(kind: K, event: QueueEvents[K], since: number): EncodedEvent {
  const encoded: EncodedEvent = [FLEET_KINDS.indexOf(kind), Math.round(since), event.topic, event.partition];
  ENCODERS[kind](encoded, event);
  return encoded;
}

/** @param start time from which the times of the events count, in epoch milliseconds */
export function encodeEntry(start: number, events: readonly EncodedEvent[]): string {
  return JSON.stringify([start, ...events]);
}

/**
 * Decodes an entry. Kinds that this version does not know are left out.
 *
 * @throws if {@link encodeEntry} has not made it
 */
export function decodeEntry(text: string, process: string): FleetEvent[] {
  const [start, ...events] = JSON.parse(text) as [unknown, ...[unknown, unknown, unknown, unknown, ...Value[]][]];
  return events.flatMap(([index, since, topic, partition, ...rest]) => {
    const kind = FLEET_KINDS[index as number];
    if (kind === undefined) return [];
    const origin = { kind, process, at: new Date(Number(start) + Number(since)), topic: String(topic), partition };
    const event = { ...origin, ...DECODERS[kind](rest) };
    if (!Object.values(event).every(isReadable)) throw new TypeError(`An event of the kind '${kind}' cannot be read.`);
    return [event as FleetEvent];
  });
}

/** Whether a value is readable: NaN and invalid dates would fail where they are used. */
function isReadable(value: unknown): boolean {
  return !Number.isNaN(isDate(value) ? value.getTime() : value);
}

const ENCODERS: { readonly [K in FleetKind]: (to: Value[], event: QueueEvents[K]) => void } = {
  published: (to, { id, dueAt, duplicate }) => to.push(id, dueAt.getTime(), Number(duplicate)),
  delivered: (to, event) => encodeDelivery(to, event, event.lateness),
  acked: encodeEnded,
  retried: (to, event) => {
    encodeEnded(to, event);
    to.push(event.delay);
    const failure = toFailure('failed', event.error);
    encodeError(to, { ...failure, message: messageOf(failure) });
  },
  dead: (to, event) => {
    encodeEnded(to, event);
    to.push(event.failure.reason);
    encodeError(to, { ...event.failure, message: messageOf(event.failure) });
    to.push(Number(event.blocksKey));
  },
  cancelled: encodeEnded,
  replaced: encodeEnded,
  released: encodeEnded,
  stale: (to, event) => encodeDelivery(to, event),
  ownership: (to, { owned }) => to.push(Number(owned)),
  missed: (to, { schedule, reason, occurrences, first, last }) =>
    to.push(schedule, reason, occurrences, first.getTime(), last.getTime()),
};

type Own<K extends FleetKind> = Omit<FleetEvents[K], 'topic' | 'partition'>;

const DECODERS: { readonly [K in FleetKind]: (values: readonly Value[]) => Own<K> } = {
  published: ([id, dueAt, duplicate]) => ({
    id: String(id),
    dueAt: new Date(Number(dueAt)),
    duplicate: duplicate === 1,
  }),
  delivered: (values) => ({ ...decodeDelivery(values), lateness: Number(values[3]) }),
  acked: decodeEnded,
  retried: (values) => ({
    ...decodeEnded(values),
    delay: Number(values[4]),
    error: decodeError(values.slice(5)),
  }),
  dead: (values) => ({
    ...decodeEnded(values),
    failure: { reason: values[4] as FailureReason, ...decodeError(values.slice(5)) },
    blocksKey: values[8] === 1,
  }),
  cancelled: decodeEnded,
  replaced: decodeEnded,
  released: decodeEnded,
  stale: decodeDelivery,
  ownership: ([owned]) => ({ owned: owned === 1 }),
  missed: ([schedule, reason, occurrences, first, last]) => ({
    schedule: String(schedule),
    reason: reason as QueueEvents['missed']['reason'],
    occurrences: Number(occurrences),
    first: new Date(Number(first)),
    last: new Date(Number(last)),
  }),
};

/** Encodes a delivery; the key is left out if it equals the id. */
function encodeDelivery(to: Value[], { id, key, attempt }: DeliveryEvent, milliseconds?: number): void {
  to.push(id, key === id ? null : key, attempt);
  if (milliseconds !== undefined) to.push(Math.round(milliseconds * 100) / 100);
}

function decodeDelivery([id, key, attempt]: readonly Value[]): Own<'stale'> {
  return { id: String(id), key: String(key ?? id), attempt: Number(attempt) };
}

function encodeEnded(to: Value[], event: EndedDelivery): void {
  encodeDelivery(to, event, event.duration);
}

function decodeEnded(values: readonly Value[]): Own<'acked'> {
  return { ...decodeDelivery(values), duration: Number(values[3]) };
}

function encodeError(to: Value[], { name, message, code }: FleetError): void {
  to.push(name, message.slice(0, MAX_MESSAGE_LENGTH), code ?? null);
}

function decodeError([name, message, code]: readonly Value[]): FleetError {
  const error = { name: String(name), message: String(message) };
  return typeof code === 'string' ? { ...error, code } : error;
}
