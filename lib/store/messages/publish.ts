import type { FinishedOutcome } from '../../errors/publishing.errors.js';
import type { ReplicaRequirement } from '../../messages/replicas.js';
import { assertLength } from '../calls/assert-times.js';
import type { Reply } from '../driver.interface.js';
import type { TopicOrder } from '../fleet/topic-config.js';
import type { Argument } from '../lua/lua-script.js';

/** Milliseconds from now on the broker's clock, or epoch milliseconds. */
export type DueTime = { readonly after: number } | { readonly at: number };

export interface NewMessage {
  readonly storedId: string;
  readonly envelope: string;
  readonly due: DueTime;
  /** `'impossible'`: the id was generated for this message, so the broker does not look for another message that has it. */
  readonly onDuplicate: 'reject' | 'ignore' | 'replace' | 'earliest' | 'impossible';
  /**
   * Longest wait, in milliseconds: however often the message is replaced until it is delivered, it is due at most this long after
   * its first publish that has a longest wait.
   */
  readonly maxWait?: number | undefined;
  /** Tags that it can be found by, each once. @defaultValue none */
  readonly tags?: readonly string[] | undefined;
}

/** Terms that all messages of a call share. */
export interface PublishTerms {
  /** Replicas to wait for: the call is answered only when they have confirmed it, or its time is over; `confirmedBy` tells. */
  readonly replicas?: ReplicaRequirement | undefined;
  /** Order of the topic. */
  readonly order?: TopicOrder | undefined;
}

export interface PublishResult {
  /** `ignored`: the message that was there stays; with `'earliest'` its due time may have changed. */
  readonly status: 'created' | 'rejected' | 'ignored' | 'replaced';
  /** Due time of the message that is stored now, epoch milliseconds. */
  readonly dueAt: number;
  /** If it was rejected since the message with this id is finished, the outcome of that one. */
  readonly finishedAs?: FinishedOutcome;
  /** Set in the first result of a call if its partition had no counters yet: the partition is new, or Redis has lost it. */
  readonly isNewPartition?: true;
  /** Number of replicas that had confirmed the call when it was answered; `undefined` if none were asked for. */
  readonly confirmedBy?: number;
}

const ON_DUPLICATE: Readonly<Record<NewMessage['onDuplicate'], string>> = {
  reject: 'e',
  ignore: 'i',
  replace: 'r',
  earliest: 's',
  impossible: 'n',
};

/** Stands for no longest wait. */
const NO_MAX_WAIT = -1;

/** Data of a new message beside its envelope. */
type MessageColumns = Omit<NewMessage, 'envelope'>;

/** @throws InvalidArgumentError if it is not a time */
export function assertDue(due: DueTime): void {
  assertLength('The due time', 'after' in due ? due.after : due.at);
}

/** @throws InvalidArgumentError if a due time is not a time, or a longest wait not a length of time: then nothing may be sent */
export function assertMessages(messages: readonly NewMessage[]): void {
  for (const { due, maxWait } of messages) {
    assertDue(due);
    if (maxWait !== undefined) assertLength('The longest wait', maxWait);
  }
}

/** Encodes messages for `lua/publish.lua`, behind its other arguments. */
export function encodeMessages(messages: readonly NewMessage[]): Argument[] {
  const rest: Argument[] = [];
  for (const { storedId, envelope } of messages) rest.push(storedId, envelope);
  return rest;
}

/** Encodes columns for `lua/modules/message-columns.lua`. */
export function encodeColumns(messages: readonly MessageColumns[]): string {
  const dues = oneOrAll(messages, (a, b) => isSame(a.due, b.due));
  const onDuplicates = oneOrAll(messages, (a, b) => a.onDuplicate === b.onDuplicate);
  const dueSpecs = dues.map(({ due }) => encodeDueTime(due)).join(',');
  const letters = onDuplicates.map(({ onDuplicate }) => ON_DUPLICATE[onDuplicate]).join('');
  const ownKeys = oneOrAll(messages, (a, b) => hasOwnKey(a) === hasOwnKey(b));
  const keyDigits = ownKeys.map((message) => (hasOwnKey(message) ? 1 : 0)).join('');
  const maxWaits = messages.some(({ maxWait }) => maxWait !== undefined)
    ? messages.map(({ maxWait = NO_MAX_WAIT }) => maxWait).join(',')
    : '';
  const tagLists = messages.some(({ tags }) => tags) ? messages.map(({ tags = [] }) => encodeTags(tags)).join('') : '';
  return `${dueSpecs}\n${letters}\n${keyDigits}\n${maxWaits}\n${tagLists}`;
}

function encodeTags(tags: readonly string[]): string {
  return `${tags.map((tag) => `${tag}\0`).join('')}\0`;
}

/** Encodes a due time for `lua/modules/due-time.lua`. */
export function encodeDueTime(due: DueTime): string {
  return 'after' in due ? `+${due.after}` : String(due.at);
}

/** Encodes a column; a value that all messages share is sent, and read, once. */
function oneOrAll(
  messages: readonly MessageColumns[],
  areAlike: (a: MessageColumns, b: MessageColumns) => boolean,
): readonly MessageColumns[] {
  const [first] = messages;
  return first && messages.every((message) => areAlike(message, first)) ? [first] : messages;
}

function hasOwnKey({ storedId }: MessageColumns): boolean {
  return storedId.includes('\0');
}

function isSame(a: DueTime, b: DueTime): boolean {
  return 'after' in a ? 'after' in b && a.after === b.after : 'at' in b && a.at === b.at;
}

/** Digit of a message of a call of which all were created, which has no digits. */
const CREATED = '1';

/** Statuses by the digit that the script answers. */
const PUBLISH_STATUS = ['created', 'created', 'rejected', 'ignored', 'replaced'] as const;

/** Outcomes by digit: rejected, since the message with this id has ended and is kept. */
const REJECTED_AS: Readonly<Record<string, FinishedOutcome>> = { 5: 'acked', 6: 'cancelled', 7: 'delivered' };

/** @param messages that were published; the due times of most follow from them */
export function publishResults([answer]: Reply, messages: readonly NewMessage[]): PublishResult[] {
  const [base, statuses = '', kept = '', isNew] = String(answer).split(' ');
  const keptDues = kept.split(',').values();
  const results = messages.map(({ due, maxWait }, i): PublishResult => {
    const digit = statuses[i] ?? CREATED;
    const finishedAs = REJECTED_AS[digit];
    if (finishedAs) return { status: 'rejected', dueAt: Number(keptDues.next().value), finishedAs };
    const status = PUBLISH_STATUS[Number(digit) as 1 | 2 | 3 | 4];
    if (status === 'rejected' || status === 'ignored' || maxWait !== undefined) {
      return { status, dueAt: Number(keptDues.next().value) };
    }
    return { status, dueAt: 'at' in due ? due.at : Number(base) + due.after };
  });
  if (isNew) results[0] = { ...(results[0] as PublishResult), isNewPartition: true };
  return results;
}
