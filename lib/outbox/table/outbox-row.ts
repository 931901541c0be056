import { crc32 } from 'node:zlib';
import type { MessageRef } from '../../messages/message-ref.js';
import type { PublishRequest } from '../../producer/publish-request.js';
import { toStoredId } from '../../messages/stored-id.js';

/** Kinds of rows. They are stored, so they never change. */
export const PUBLISH = 1;
export const CANCEL = 2;
export const RESCHEDULE = 3;

/** A call that waits in the outbox for the relay. */
export interface NewRow {
  readonly shard: number;
  readonly kind: number;
  readonly topic: string;
  /** `undefined`: the caller has named the message by its id alone. */
  readonly key: string | undefined;
  readonly id: string;
  /** Epoch milliseconds on the clock of Redis; `undefined` for a cancel. */
  readonly dueAt: number | undefined;
  /** Data of a publish; `undefined` for the others. */
  readonly body: string | undefined;
}

/** A row with its place in the table. */
export interface OutboxRow extends NewRow {
  /** Digits: other forms of such a number are not safe in JavaScript. */
  readonly seq: string;
}

/** Data of a publish beside its columns. */
type Body = Pick<PublishRequest, 'envelope' | 'onDuplicate' | 'maxWait' | 'tags' | 'replicas'>;

/** Returns the shard of a key. All rows of a key are in one shard, so that they stay in their order. */
export function shardOf(topic: string, key: string, shards: number): number {
  return crc32(`${topic}\0${key}`) % shards;
}

export function toPublishRow(topic: string, request: PublishRequest, dueAt: number, shards: number): NewRow {
  const { id, key, envelope, onDuplicate, maxWait, tags, replicas } = request;
  const body: Body = {
    envelope,
    // A message with a generated id can only be a duplicate of itself, if Redis has lost the answer to an earlier try.
    onDuplicate: onDuplicate === 'impossible' ? 'ignore' : onDuplicate,
    maxWait,
    tags,
    replicas,
  };
  return { shard: shardOf(topic, key, shards), kind: PUBLISH, topic, key, id, dueAt, body: JSON.stringify(body) };
}

/**
 * Restores the request of a publish.
 *
 * @throws SyntaxError, TypeError if another program has written the row
 */
export function toRequest({ id, key = id, dueAt = 0, body = '' }: OutboxRow): PublishRequest {
  const { envelope, onDuplicate, maxWait, tags, replicas } = JSON.parse(body) as Body;
  if (typeof envelope !== 'string') throw new TypeError('The row has no message.');
  return {
    id,
    key,
    storedId: toStoredId(id, key),
    envelope,
    due: { at: dueAt },
    onDuplicate,
    maxWait,
    tags,
    replicas,
    operation: undefined,
  };
}

export function refOf({ id, key }: OutboxRow): MessageRef {
  return key === undefined ? id : { id, key };
}
