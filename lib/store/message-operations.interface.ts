import type {
  CallId,
  CancelResult,
  ClearResult,
  DueTime,
  EnvelopeEdit,
  EnvelopeEditResult,
  NewMessage,
  Partition,
  PublishResult,
  PublishTerms,
  RescheduleResult,
  SeenMessage,
  TagCancelResult,
} from './message-calls.interface.js';
import type {
  DueCounts,
  MessageLook,
  PartitionStats,
  PeekRequest,
  PeekedMessages,
  StoredMessage,
} from './stored-message.interface.js';

/** Publishing messages, changing them, and looking at what is stored. */
export interface MessageOperations {
  /** Answers in the order of the messages, 1 to `MAX_BATCH`. */
  publish(
    partition: Partition,
    call: CallId,
    messages: readonly NewMessage[],
    terms?: PublishTerms,
  ): Promise<PublishResult[]>;
  /** @param seen it is not found unless it still waits as it was seen */
  cancel(partition: Partition, call: CallId, storedId: string, seen?: SeenMessage): Promise<CancelResult>;
  /**
   * Cancels some of the messages that carry a tag, each as {@link cancel} does; dead letters stay.
   *
   * @param after begins behind this stored id; `undefined`: at the first
   */
  cancelTagged(partition: Partition, call: CallId, tag: string, after: string | undefined): Promise<TagCancelResult>;
  /**
   * Moves a message that waits to another due time; if it does not wait, nothing changes.
   *
   * @param seen it is not found unless it still waits as it was seen
   */
  reschedule(
    partition: Partition,
    call: CallId,
    storedId: string,
    due: DueTime,
    seen?: SeenMessage,
  ): Promise<RescheduleResult>;
  /** Makes a message that waits due now; one that is due already keeps its time. */
  runNow(partition: Partition, call: CallId, storedId: string): Promise<RescheduleResult>;
  edit(partition: Partition, call: CallId, edit: EnvelopeEdit): Promise<EnvelopeEditResult>;
  /** Removes some of the messages that wait (they count as cancelled) or are dead, the first ones first. */
  clear(partition: Partition, call: CallId, state: 'scheduled' | 'dead'): Promise<ClearResult>;

  get(partition: Partition, storedId: string): Promise<StoredMessage | undefined>;
  /** Looks at all that decides about when a message is delivered. */
  explain(partition: Partition, storedId: string): Promise<MessageLook | undefined>;
  /** The stored ids of the messages that have this id and a key of their own, in order, at most `MAX_BATCH`. */
  locate(partition: Partition, id: string): Promise<string[]>;
  peek(partition: Partition, request: PeekRequest): Promise<PeekedMessages>;
  stats(partition: Partition): Promise<PartitionStats>;
  /**
   * Names what a partition holds, from when this was first asked for until Redis loses it: what was there under another name
   * may be lost, and what is gone under the same name was taken away.
   *
   * @param fresh the name if it has none yet; `undefined` only looks
   */
  lifeOf(partition: Partition, fresh?: string): Promise<string | undefined>;
  /**
   * Counts what waits by when it is due.
   *
   * @param times epoch milliseconds, whole and ascending, 1 to `MAX_DUE_TIMES`
   */
  countDue(partition: Partition, times: readonly number[]): Promise<DueCounts>;
}
