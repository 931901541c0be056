import type { TopicConfig } from '../store/fleet/topic-config.js';
import type { Position, StoredMessage } from '../store/messages/stored-message.js';
import { type CallId, MAX_BATCH, type Partition } from '../store/partition.js';
import { partitionOf } from '../messages/partitioner.js';
import type { Duration } from '../time/duration.js';
import type { LocalTime } from '../time/local-time.js';
import { requiredDueTime } from '../producer/due-time.js';
import { existingConfig, partitionsOf } from '../store/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type BulkStep, inLanes, runBulk, stepSize } from './bulk.js';
import {
  type BulkOptions,
  type BulkResult,
  type CancelManyOptions,
  type CancelManyResult,
  type CheckedBulkOptions,
  checkedCancelOptions,
  checkedOptionsOf,
} from './bulk-options.js';
import { toDetails } from './message-details.js';
import { type CheckedMessageFilter, type MessageFilter, checkedMessageFilter, fits } from './message-filter.js';
import { hasBlocked, placeBefore } from './merged-list.js';

/** Size at which a page of messages ends, in characters: every partition can have one in memory. */
const MAX_PAGE_LENGTH = 128 * 1024;

/** Called before the first step. */
type Begin = () => Promise<void>;

/** A change to waiting messages. */
interface Change {
  /** Whether a message still needs the change. @defaultValue always */
  readonly isMeant?: (partition: Partition, stored: StoredMessage) => boolean;
  /** Whether it can make a message wait behind another one that had waited behind it. */
  readonly moves: boolean;
  /** Whether it includes messages in flight. */
  readonly inFlight?: boolean;
  /** Makes the call for one message; returns whether it changed the message. */
  readonly apply: (partition: Partition, call: CallId, storedId: string) => Promise<boolean>;
}

/** A list of messages of a partition. */
interface List {
  readonly state: 'scheduled' | 'in-flight';
  readonly blocked: boolean;
}

/** Cancels and moves the messages that match a filter: page by page, with one call per message. */
export class WaitingMessages {
  readonly #dependencies: AdminDependencies;

  constructor(dependencies: AdminDependencies) {
    this.#dependencies = dependencies;
  }

  async cancel(
    topic: string,
    filter: MessageFilter,
    options: CancelManyOptions,
    begin: Begin,
  ): Promise<CancelManyResult> {
    const { inFlight, ...checked } = checkedCancelOptions(options);
    const meant = checkedMessageFilter(filter, inFlight ? ['scheduled', 'in-flight'] : ['scheduled']);
    const { broker } = this.#dependencies;
    let stopped = 0;
    const result = await this.#change(
      topic,
      meant,
      { ...checked, begin },
      {
        moves: false,
        inFlight,
        apply: async (partition, call, storedId) => {
          const became = await broker.messages.cancel(partition, call, storedId);
          if (became === 'in-flight') stopped++;
          return became !== 'not-found';
        },
      },
    );
    return { ...result, inFlight: stopped };
  }

  async reschedule(
    topic: string,
    filter: MessageFilter,
    { when, options }: { when: { delay: Duration } | { deliverAt: Date | number | LocalTime }; options: BulkOptions },
    begin: Begin,
  ): Promise<BulkResult> {
    const checked = checkedOptionsOf('reschedule', options);
    const meant = checkedMessageFilter(filter, ['scheduled']);
    const { broker } = this.#dependencies;
    const due = requiredDueTime(when, broker.now());
    // One time for all of them identifies those already moved, wherever they turn up again.
    const at = 'at' in due ? due.at : Math.ceil(broker.now() + due.after);
    return this.#change(
      topic,
      meant,
      { ...checked, begin },
      {
        moves: true,
        isMeant: (_, stored) => stored.at !== at,
        apply: async (partition, call, storedId) =>
          (await broker.messages.reschedule(partition, call, storedId, { at })) === 'moved',
      },
    );
  }

  async runNow(topic: string, filter: MessageFilter, options: BulkOptions, begin: Begin): Promise<BulkResult> {
    const checked = checkedOptionsOf('runNow', options);
    const meant = checkedMessageFilter(filter, ['scheduled']);
    const { broker } = this.#dependencies;
    // Messages that are due already come first in the lists, and can be most of them.
    const from = Math.max(meant.from ?? 0, Math.floor(broker.now()));
    return this.#change(
      topic,
      { ...meant, from },
      { ...checked, begin },
      {
        moves: true,
        isMeant: (partition, stored) => stored.at > broker.now(partition),
        apply: async (partition, call, storedId) =>
          (await broker.messages.runNow(partition, call, storedId)) === 'moved',
      },
    );
  }

  async #change(
    topic: string,
    filter: CheckedMessageFilter,
    { begin, ...options }: CheckedBulkOptions & { readonly begin: Begin },
    change: Change,
  ): Promise<BulkResult> {
    const config = await served(this.#dependencies, () => existingConfig(this.#dependencies.broker, topic));
    const { key } = filter;
    const partitions =
      key === undefined
        ? partitionsOf(topic, config.partitions)
        : [{ topic, index: partitionOf(key, config.partitions) }];
    const lists = listsOf(config, filter, change, options.dryRun);
    const steps = partitions.map((partition) =>
      this.#stepsIn(partition, lists, { filter, change, size: stepSize(options) }),
    );
    return runBulk(this.#dependencies, steps, options, begin);
  }

  async *#stepsIn(
    partition: Partition,
    lists: readonly List[],
    { filter, change, size }: { filter: CheckedMessageFilter; change: Change; size: number },
  ): AsyncGenerator<BulkStep, void> {
    const serializer = this.#dependencies.serializerOf(partition.topic);
    /** Ids of messages met in flight: the renewal of a lease moves its message, so that it can turn up again. */
    const running = new Set<string>();
    for (const list of lists) {
      for await (const page of this.#pagesOf(partition, list, filter)) {
        const meant = page.filter((stored) => {
          if (running.has(stored.storedId) || !fits(partition.topic, serializer, stored, filter)) return false;
          if (list.state === 'in-flight') running.add(stored.storedId);
          return change.isMeant?.(partition, stored) ?? true;
        });
        for (let first = 0; first < meant.length; first += size) {
          yield this.#toStep(partition, meant.slice(first, first + size), change);
        }
      }
    }
  }

  #toStep(partition: Partition, messages: readonly StoredMessage[], { apply }: Change): BulkStep {
    const serializer = this.#dependencies.serializerOf(partition.topic);
    return {
      matched: messages.length,
      examples: async (most) => messages.slice(0, most).map((stored) => toDetails(partition, stored, serializer)),
      apply: async (send) => {
        let changed = 0;
        await inLanes(messages, async ({ storedId }, lane) => {
          if (await send((call) => apply(partition, call, storedId), lane)) changed++;
        });
        return changed;
      },
    };
  }

  /** Reads a list page by page. Messages that were there all along and keep their places are read once. */
  async *#pagesOf(
    partition: Partition,
    list: List,
    { tag, from, to = Infinity }: CheckedMessageFilter,
  ): AsyncGenerator<readonly StoredMessage[], void> {
    const { broker } = this.#dependencies;
    const isByTime = list.state === 'scheduled' && tag === undefined;
    let after: Position | undefined = isByTime && from !== undefined ? placeBefore(from) : undefined;
    do {
      const request = { ...list, tag, after, limit: MAX_BATCH, maxBytes: MAX_PAGE_LENGTH };
      const { messages, next } = await served(this.#dependencies, () => broker.messages.peek(partition, request));
      yield messages;
      const isOver = isByTime && (messages.at(-1)?.at ?? -Infinity) >= to;
      after = isOver ? undefined : next;
    } while (after !== undefined);
  }
}

/**
 * Returns the lists of a partition in an order that misses no message. The next message of a key leaves the blocked ones once the one before
 * it is gone, so these are read first. If one of them is moved before the head of its key, that head becomes blocked, so they are read again.
 */
function listsOf(
  config: TopicConfig,
  { tag }: CheckedMessageFilter,
  { moves, inFlight }: Change,
  dryRun: boolean,
): readonly List[] {
  const blocked: List = { state: 'scheduled', blocked: true };
  const before = tag === undefined && hasBlocked(config) ? [blocked] : [];
  const after = moves && !dryRun ? before : [];
  const running: List[] = inFlight ? [{ state: 'in-flight', blocked: false }] : [];
  return [...before, { state: 'scheduled', blocked: false }, ...after, ...running];
}
