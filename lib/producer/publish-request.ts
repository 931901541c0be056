import type { DueTime, NewMessage } from '../store/messages/publish.js';
import { optionalDueTime } from './due-time.js';
import { parseDuration } from '../time/duration.js';
import { describe } from '../checks/describe.js';
import { MAX_DELAY } from '../checks/limits.js';
import { assertOneOf, assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { assertId } from '../messages/assert-id.js';
import { assertHeaders } from '../messages/envelope.js';
import { toEnvelope } from '../messages/message-options.js';
import { OPERATION, type Repeatable } from '../messages/operation.js';
import type { StoredPayload } from '../messages/serializer.js';
import type { PublishOptions } from '../messages/publish-options.interface.js';
import { type ReplicaRequirement, resolveReplicas } from '../messages/replicas.js';
import { toStoredId } from '../messages/stored-id.js';
import { checkedTags } from '../messages/tags.js';
import { MessageIds } from './message-ids.js';

/** A message that passed every check and is ready to be stored. */
export interface PublishRequest extends NewMessage {
  readonly id: string;
  readonly key: string;
  /** Replicas that have to confirm it; `undefined`: none. */
  readonly replicas: ReplicaRequirement | undefined;
  /** Names the call that it is part of; `undefined`: it travels with others. */
  readonly operation: string | undefined;
}

/** What the options of a connection say of each publish. */
export interface PublishDefaults {
  /** Longest time until a publish is confirmed or rejected, in milliseconds. */
  readonly publishTimeout: number;
  /** Replicas that have to confirm a publish whose options do not say it; `undefined`: none. */
  readonly replicas?: ReplicaRequirement | undefined;
}

const OPTIONS: readonly (keyof PublishOptions)[] = [
  'id',
  'key',
  'delay',
  'deliverAt',
  'attempts',
  'backoff',
  'timeout',
  'expireAfter',
  'headers',
  'tags',
  'onDuplicate',
  'maxWait',
  'replicas',
];

const messageIds = new MessageIds();
const NO_OPTIONS: PublishOptions = Object.freeze({});
const AT_ONCE: DueTime = Object.freeze({ after: 0 });

/**
 * Checks and encodes one message.
 *
 * @param now the broker's clock, epoch milliseconds
 * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError
 */
export function toPublishRequest(
  stored: StoredPayload,
  options: PublishOptions = NO_OPTIONS,
  now: number,
  defaults: PublishDefaults,
): PublishRequest {
  if (options !== NO_OPTIONS) assertPublishOptions(options);
  const { onDuplicate = 'reject' } = options;
  assertOneOf('onDuplicate', onDuplicate, ['reject', 'ignore', 'replace', 'earliest']);
  const maxWait =
    options.maxWait === undefined ? undefined : parseDuration('maxWait', options.maxWait, { min: 0, max: MAX_DELAY });
  if (maxWait !== undefined && onDuplicate !== 'replace') {
    throw new InvalidArgumentError(
      `maxWait needs onDuplicate: 'replace': it limits for how long replacing can put a message off. ` +
        `Given: maxWait ${describe(options.maxWait)}, onDuplicate ${describe(options.onDuplicate)}.`,
    );
  }
  if (options.id !== undefined) assertId('id', options.id);
  if (options.key !== undefined) assertId('key', options.key);
  const { long: id, short } = options.id === undefined ? messageIds.next() : { long: options.id, short: undefined };
  const key = options.key ?? id;
  const tags = options.tags === undefined ? undefined : checkedTags(options.tags);
  const envelope = toEnvelope(stored, options, now, tags);
  const { replicas, publishTimeout } = defaults;
  const due = optionalDueTime(options, now) ?? AT_ONCE;
  return {
    id,
    key,
    storedId: toStoredId(id, key, short),
    envelope,
    due,
    onDuplicate: options.id === undefined ? 'impossible' : onDuplicate,
    maxWait,
    tags,
    replicas: options.replicas === undefined ? replicas : resolveReplicas('replicas', options.replicas, publishTimeout),
    operation: (options as Repeatable)[OPERATION],
  };
}

/** @throws InvalidArgumentError if these are no options, one of them is unknown, or the headers are invalid */
export function assertPublishOptions(options: PublishOptions): void {
  assertOptions('The publish options', options, OPTIONS);
  if (options.headers !== undefined) assertHeaders(options.headers);
}
