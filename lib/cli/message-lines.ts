import type { MessageDetails } from '../admin/message-details.js';
import { type Failure, summaryOf } from '../messages/failure.js';
import type { Paint } from './paint.js';
import { type Column, pairs } from './table.js';
import { shown, shownLines, shownValue } from './text.js';
import { relative, shownDuration, shownTime } from './times.js';

/** What `at` is in each state. */
const AT = { scheduled: 'due', 'in-flight': 'lease ends', dead: 'died', finished: 'ended' } as const;

/** A line of a list for each message of a state. */
export function messageColumns(state: MessageDetails['state'], now: number): Column<MessageDetails>[] {
  return [
    { title: 'ID', cell: ({ id }) => shown(id) },
    { title: 'KEY', cell: ({ id, key }) => (key === id ? '-' : shown(key)) },
    { title: AT[state].toUpperCase(), cell: ({ at }) => relative(at, now) },
    { title: 'ATTEMPTS', cell: ({ attempts }) => String(attempts), align: 'right' },
    ...(state === 'dead'
      ? [{ title: 'FAILURE', cell: ({ failure }: MessageDetails) => shownFailure(failure) }]
      : [{ title: 'PAYLOAD', cell: ({ payload }: MessageDetails) => shownValue(payload) }]),
  ];
}

/** All that is known of a message. */
export function messageLines(message: MessageDetails, now: number, paint: Paint): string[] {
  const { id, key, topic, partition, state, at, payload, headers, deliveries, attempts, failure, history } = message;
  const { maxAttempts, backoff, timeout, expireAfter } = message;
  const entries: [string, string][] = [
    ['id', shown(id)],
    ['key', shown(key)],
    ['topic', `${topic}, partition ${partition}`],
    ['state', state],
    [AT[state], shownTime(at, now)],
    ['deliveries', String(deliveries)],
    ['attempts', maxAttempts === undefined ? String(attempts) : `${attempts} of ${maxAttempts}`],
    ...(backoff ? [['backoff', shownValue(backoff)] as [string, string]] : []),
    ...(timeout === undefined ? [] : [['timeout', shownDuration(timeout)] as [string, string]]),
    ...(expireAfter === undefined
      ? []
      : [['expires', `${shownDuration(expireAfter)} after it is due`] as [string, string]]),
    ['headers', shownValue(headers)],
    ['payload', payload === undefined ? `cannot be decoded: ${shown(message.raw)}` : shownValue(payload)],
  ];
  if (failure) entries.push(['failure', paint('red', shownFailure(failure))]);
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

function shownFailure(failure: Failure | undefined): string {
  return failure ? `${failure.reason}: ${shown(summaryOf(failure))}` : '-';
}
