import { publishedAtOf } from '../../messages/envelope.js';
import { decodeFailureRecord } from '../../messages/failure-record.js';
import { timeOrNone, toScore } from '../calls/replies.js';
import type { Limits } from '../deliveries/limits.js';
import type { Reply } from '../driver.interface.js';
import type { Owner } from '../fleet/owner.js';
import { type StoredMessage, dueOf } from './stored-message.js';

/** A message with everything that decides when it is delivered. */
export interface MessageLook extends Pick<
  StoredMessage,
  'at' | 'dueAt' | 'deliveries' | 'attempts' | 'failure' | 'blockedBy'
> {
  /** Finished messages are not looked up. */
  readonly state: Exclude<StoredMessage['state'], 'finished'>;
  /** Time of the look on the broker's clock, in whole milliseconds. */
  readonly now: number;
  /** Epoch milliseconds; `undefined` if that cannot be read. */
  readonly publishedAt: number | undefined;
  /** Deliveries in a row that ended with their lease, the current one not included. */
  readonly crashes: number;
  /** Change made while it was in flight, which takes effect when its delivery ends. */
  readonly mark: 'cancelled' | 'replaced' | undefined;
  /** Number of messages that are claimed before it, once it is due; `undefined` if it does not wait to be claimed. */
  readonly before: number | undefined;
  /** Whether its partition is paused. */
  readonly paused: boolean;
  /** Time until which nothing of its partition begins, epoch milliseconds; `undefined` if it is not held. */
  readonly heldUntil: number | undefined;
  /** Limit of its key that keeps it waiting though it is due: on how many begin, or on how many are in flight. */
  readonly keyLimit: keyof Limits | undefined;
  /** Stored owner of its partition; `undefined` if there is none. */
  readonly owner: Owner | undefined;
  /** Token of its current delivery; {@link NO_TOKEN} if it is not in flight. */
  readonly token: string;
}

export function messageLook(reply: Reply): MessageLook | undefined {
  if (reply.length === 0) return undefined;
  const [
    now,
    paused,
    owner,
    state,
    at,
    head,
    token,
    deliveries,
    attempts,
    mark,
    crashes,
    failure,
    blockedBy,
    before,
    ...limits
  ] = reply;
  const [heldUntil, keyLimit, due] = limits;
  return {
    now: now as number,
    paused: paused === '1',
    owner: (owner as string) || undefined,
    state: state as MessageLook['state'],
    at: toScore(at),
    ...dueOf(state, due),
    publishedAt: publishedAtOf(String(head)),
    token: token as string,
    deliveries: deliveries as number,
    attempts: attempts as number,
    mark: mark === 'c' ? 'cancelled' : String(mark).startsWith('r') ? 'replaced' : undefined,
    crashes: crashes as number,
    failure: decodeFailureRecord(failure as string)?.failure,
    ...(blockedBy ? { blockedBy: blockedBy as string } : {}),
    before: timeOrNone(before),
    heldUntil: timeOrNone(heldUntil),
    keyLimit: (keyLimit as keyof Limits | '') || undefined,
  };
}
