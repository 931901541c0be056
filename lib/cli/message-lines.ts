import type { MessageDetails } from '../admin/index.js';
import type { Failure } from '../index.js';
import { summaryOf } from '../messages/failure.js';
import type { Paint } from './paint.js';
import { type Column, type Pair, pairs } from './table.js';
import { shown, shownLines, shownValue, told } from './text.js';
import { relative, shownDuration, shownTime } from './times.js';

/** Meaning of `at` in each state. */
const AT = { scheduled: 'due', 'in-flight': 'lease ends', dead: 'died', finished: 'ended' } as const;

/** Returns the columns of a list of messages in one state. */
export function messageColumns(
  state: MessageDetails['state'],
  messages: readonly MessageDetails[],
  now: number,
): Column<MessageDetails>[] {
  return [
    ...NAME,
    ...(state === 'in-flight' ? [wasDue(now)] : []),
    { title: AT[state].toUpperCase(), cell: ({ at }) => relative(at, now) },
    ATTEMPTS,
    ...(state === 'finished' ? [{ title: 'OUTCOME', cell: ({ outcome }: MessageDetails) => outcome ?? '-' }] : []),
    ...tagColumn(messages),
    ...(state === 'dead'
      ? [{ title: 'FAILURE', cell: ({ failure }: MessageDetails) => shownFailure(failure) }]
      : [PAYLOAD]),
  ];
}

/** Returns the column for the time since which a message could be handled. */
function wasDue(now: number): Column<MessageDetails> {
  return { title: 'WAS DUE', cell: ({ dueAt }) => (dueAt ? relative(dueAt, now) : '-') };
}

/** Returns the columns of a list of messages in several states. */
export function foundColumns(messages: readonly MessageDetails[], now: number): Column<MessageDetails>[] {
  return [
    ...NAME,
    { title: 'STATE', cell: ({ state }) => state },
    { title: 'AT', cell: ({ at }) => relative(at, now) },
    ATTEMPTS,
    ...tagColumn(messages),
    PAYLOAD,
  ];
}

const NAME: readonly Column<MessageDetails>[] = [
  { title: 'ID', cell: ({ id }) => shown(id) },
  { title: 'KEY', cell: ({ id, key }) => (key === id ? '-' : shown(key)) },
];
const ATTEMPTS: Column<MessageDetails> = {
  title: 'ATTEMPTS',
  cell: ({ attempts }) => String(attempts),
  align: 'right',
};
const PAYLOAD: Column<MessageDetails> = { title: 'PAYLOAD', cell: ({ payload }) => shownValue(payload) };

function tagColumn(messages: readonly MessageDetails[]): Column<MessageDetails>[] {
  const isTagged = messages.some(({ tags }) => tags.length > 0);
  return isTagged ? [{ title: 'TAGS', cell: ({ tags }) => shownTags(tags) }] : [];
}

/** Returns everything that is known about a message. */
export function messageLines(message: MessageDetails, now: number, paint: Paint): string[] {
  const { id, key, topic, partition, state, at, payload, headers, tags, deliveries, attempts, failure } = message;
  const { history, maxAttempts, backoff, timeout, expireAfter, outcome, blockedBy } = message;
  const entries: Pair[] = [
    ['id', shown(id)],
    ['key', shown(key)],
    ['topic', `${topic}, partition ${partition}`],
    ['state', outcome === undefined ? state : `${state}: ${outcome}`],
    ['published', told(message.publishedAt, (time) => shownTime(time, now))],
    ['was due', told(message.dueAt, (time) => shownTime(time, now))],
    [AT[state], shownTime(at, now)],
    ['blocked by', told(blockedBy, shown)],
    ['process', told(message.process, shown)],
    ['ran for', told(message.duration, shownDuration)],
    ['deliveries', String(deliveries)],
    ['attempts', maxAttempts === undefined ? String(attempts) : `${attempts} of ${maxAttempts}`],
    ['backoff', told(backoff, shownValue)],
    ['timeout', told(timeout, shownDuration)],
    ['expires', told(expireAfter, (time) => `${shownDuration(time)} after it is due`)],
    ['tags', tags.length === 0 ? undefined : shownTags(tags)],
    ['headers', shownValue(headers)],
    ['payload', payload === undefined ? `cannot be decoded: ${shown(message.raw)}` : shownValue(payload)],
    ['failure', told(failure, (known) => paint('red', shownFailure(known)))],
  ];
  const stack = failure?.stack === undefined ? [] : ['', shownLines(failure.stack)];
  const attemptsSoFar = history.map(
    ({ at: failedAt, attempt, name, message: text, duration }) =>
      `  attempt ${attempt}, ${shownTime(failedAt, now)}, after ${shownDuration(duration)}: ${shown(`${name}: ${text}`)}`,
  );
  return [
    ...pairs(entries, paint),
    ...(attemptsSoFar.length > 0 ? ['', paint('dim', 'failed attempts, the last one first'), ...attemptsSoFar] : []),
    ...stack,
  ];
}

function shownTags(tags: readonly string[]): string {
  return shown(tags.join(', '));
}

function shownFailure(failure: Failure | undefined): string {
  return failure ? `${failure.reason}: ${shown(summaryOf(failure))}` : '-';
}
