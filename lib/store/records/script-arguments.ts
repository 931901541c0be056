import { encodeFailureRecord } from '../../messages/failure-record.js';
import {
  type ClaimRequest,
  type DueTime,
  NO_TOKEN,
  type NewMessage,
  type Outcome,
  type RetentionLimits,
  type Settlement,
  AT_ONCE,
} from '../broker.interface.js';
import type { Argument } from '../lua/lua-script.js';

const ON_DUPLICATE: Readonly<Record<NewMessage['onDuplicate'], string>> = {
  reject: 'e',
  ignore: 'i',
  replace: 'r',
  earliest: 's',
  impossible: 'n',
};

const OUTCOMES: Readonly<Record<Outcome['kind'], string>> = {
  ack: 'a',
  retry: 'r',
  dead: 'd',
  release: 'b',
  'put-off': 'p',
};

/** In place of a longest wait. */
const NO_MAX_WAIT = -1;

/** Dead, and the attempt is given back. */
const DEAD_UNSPENT = 'u';

/** The same since the message came too late, which is counted. */
const EXPIRED = 'x';

/** Put off, and so are all others of its key. */
const KEY_PUT_OFF = 'k';

/** What `lua/claim.lua` makes. Any other text of a receipt is of no delivery, and could be read as something else. */
const TOKEN = /^[^ ]+\.\d+$/;

/** The messages as `lua/publish.lua` reads them. */
export function encodeMessages(messages: readonly NewMessage[]) {
  const dues = oneOrAll(messages, (a, b) => isSame(a.due, b.due));
  const onDuplicates = oneOrAll(messages, (a, b) => a.onDuplicate === b.onDuplicate);
  const rest: Argument[] = [];
  let hasTags = false;
  for (const { storedId, envelope, tags } of messages) {
    rest.push(storedId, envelope);
    if (tags) hasTags = true;
  }
  return {
    due_specs: dues.map(({ due }) => encodeDueTime(due)).join(','),
    on_duplicates: onDuplicates.map(({ onDuplicate }) => ON_DUPLICATE[onDuplicate]).join(''),
    max_waits: messages.some(({ maxWait }) => maxWait !== undefined)
      ? messages.map(({ maxWait = NO_MAX_WAIT }) => maxWait).join(',')
      : '',
    tag_lists: hasTags ? encodeTags(messages.map(({ tags = [] }) => tags)) : '',
    rest,
  };
}

/**
 * The settlements as `lua/settle.lua` reads them.
 *
 * @param process that has handled the messages; `undefined`: nothing is kept of those that are finished
 */
export function encodeSettlements(settlements: readonly Settlement[], process: string | undefined) {
  const rest: Argument[] = settlements.map(({ storedId }) => storedId);
  let letters = '';
  for (const { outcome } of settlements) {
    letters += letterOf(outcome);
    if (outcome.kind !== 'ack') rest.push(timeOf(outcome), failureOf(outcome));
  }
  const areAcks = rest.length === settlements.length;
  return {
    outcomes: areAcks ? OUTCOMES.ack : letters,
    tokens: settlements.map(({ token }) => `${TOKEN.test(token) ? token : NO_TOKEN} `).join(''),
    process: process ?? '',
    durations: process === undefined ? '' : settlements.map(({ duration = 0 }) => Math.round(duration)).join(','),
    rest,
  };
}

/** The tags of messages as `lua/publish.lua` reads them. */
export function encodeTags(tagLists: readonly (readonly string[])[]): string {
  return tagLists.map((tags) => `${tags.map((tag) => `${tag}\0`).join('')}\0`).join('');
}

/** As `lua/modules/finished.lua` reads them; empty if nothing is kept. */
export function encodeRetention(limits: RetentionLimits | undefined): string {
  return limits ? `${Math.round(limits.maxAge ?? -1)} ${limits.maxCount ?? -1}` : '';
}

/** Order and limits of a topic, as `lua/claim.lua` reads them; nothing if it has none, and nothing is to be counted. */
export function encodeTerms({ order, keyLimits, counts = false, begin = AT_ONCE }: ClaimRequest): string {
  if (!order && !keyLimits && !counts) return '';
  const { inFlight = 0, rate } = keyLimits ?? {};
  const { lead, slack, ahead } = begin;
  return `${order ?? '-'} ${inFlight} ${rate?.max ?? 0} ${rate?.per ?? 0} ${counts ? 1 : 0} ${lead} ${slack} ${ahead}`;
}

/** As `lua/modules/due-time.lua` reads it. */
export function encodeDueTime(due: DueTime): string {
  return 'after' in due ? `+${due.after}` : String(due.at);
}

/** What all messages have in common is sent, and read, once. */
function oneOrAll(
  messages: readonly NewMessage[],
  areAlike: (a: NewMessage, b: NewMessage) => boolean,
): readonly NewMessage[] {
  const [first] = messages;
  return first && messages.every((message) => areAlike(message, first)) ? [first] : messages;
}

function isSame(a: DueTime, b: DueTime): boolean {
  return 'after' in a ? 'after' in b && a.after === b.after : 'at' in b && a.at === b.at;
}

function failureOf(outcome: Outcome): string {
  return 'failure' in outcome ? encodeFailureRecord(outcome.failure, outcome.failedAttempt) : '';
}

/** The delay; or for what was not handed over, when it was granted. */
function timeOf(outcome: Outcome): number {
  if ('delay' in outcome) return outcome.delay;
  return ('grantedAt' in outcome && outcome.grantedAt) || 0;
}

function letterOf(outcome: Outcome): string {
  if (outcome.kind === 'put-off' && outcome.scope === 'key') return KEY_PUT_OFF;
  if (outcome.kind !== 'dead' || outcome.spent !== false) return OUTCOMES[outcome.kind];
  return outcome.failure.reason === 'expired' ? EXPIRED : DEAD_UNSPENT;
}
