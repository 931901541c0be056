import type { Broker } from '../../store/broker.interface.js';
import type { CallId, Partition } from '../../store/partition.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { NotReplicatedError } from '../../errors/publishing.errors.js';
import type { DelayQueueEvents } from '../../events/delay-queue.events.js';
import type { TopicRegistry } from '../../fleet/topic.registry.js';
import { PublishManyError } from '../../messages/publish-many.error.js';
import { isSameRequirement } from '../../messages/replicas.js';
import { partitionsOf } from '../../fleet/partitions-of.js';
import { findMessage } from '../../producer/find-message.js';
import type { PublishRequest } from '../../producer/publish-request.js';
import { type Route, Publisher } from '../../producer/publisher.js';
import { restoreTopic } from '../../producer/restore-topic.js';
import { serveWithin } from '../../store/calls/serve.js';
import type { Clock } from '../../time/clock.js';
import { CANCEL, PUBLISH, refOf, RESCHEDULE, toRequest, type OutboxRow } from '../table/outbox-row.js';
import type { Batch } from '../table/outbox-table.js';

/**
 * Time for which Redis keeps what it answered to the calls of a batch, in milliseconds: 7 days. So long can all relays be away between the
 * call and the removal of its rows, and still nothing is done twice. The next batch of a caller replaces the answers.
 */
const REMEMBER_FOR = 7 * 24 * 60 * 60 * 1000;

export interface BatchSenderOptions {
  readonly broker: Broker;
  readonly topics: TopicRegistry;
  readonly clock: Clock;
  readonly events: DelayQueueEvents;
  /** Milliseconds. */
  readonly timeout: number;
}

/** A row that Redis refuses, with the reason. */
export interface RefusedRow {
  readonly row: OutboxRow;
  readonly error: Error;
}

/** A publish with its row. */
interface RowMessage {
  readonly row: OutboxRow;
  readonly request: PublishRequest;
}

/** Sends batches of rows to Redis. A batch can be sent any number of times, by any process, as long as its rows are the same. */
export class BatchSender {
  readonly #options: BatchSenderOptions;
  readonly #publisher: Publisher;

  constructor(options: BatchSenderOptions) {
    this.#options = options;
    const { broker, topics } = options;
    this.#publisher = new Publisher({
      ...options,
      store: broker.messages,
      caller: 'outbox',
      orderOf: (topic) => topics.knownOrder(topic),
      onSent: (topic, isNewPartition) => {
        if (isNewPartition) void restoreTopic(options, topic);
      },
    });
  }

  /**
   * Sends the rows of each key in their order. Resolves once Redis has confirmed or refused all.
   *
   * @returns refused rows
   * @throws BrokerUnavailableError: the batch has to be sent again
   */
  async send({ caller, sequence, rows }: Batch): Promise<RefusedRow[]> {
    const refused: RefusedRow[] = [];
    for (const [number, step] of stepsOf(rows).entries()) {
      const call = (part: string): CallId => ({
        caller: `${caller}:${number}:${part}`,
        sequence,
        rememberFor: REMEMBER_FOR,
      });
      const { messages, changes, unreadable } = contentsOf(step);
      refused.push(...unreadable);
      const answers = await Promise.all([
        ...groupsOf(messages).map((group, n) => this.#publish(group, call(`publish:${n}`))),
        ...changes.map((row, n) => this.#change(row, (place) => call(`change:${n}:${place}`))),
      ]);
      refused.push(...answers.flat());
    }
    return refused;
  }

  /** @param messages of one topic, on the same terms, at least one */
  async #publish(messages: readonly RowMessage[], operation: CallId): Promise<RefusedRow[]> {
    const [{ row: first }] = messages as [RowMessage];
    try {
      const requests = messages.map(({ request }) => ({ ...request, operation }));
      await this.#publisher.publishAll(await this.#routeOf(first.topic), requests);
      return [];
    } catch (error) {
      const reasons = error instanceof PublishManyError ? error.results.map(reasonOf) : messages.map(() => error);
      return messages.flatMap(({ row }, i) => refusals(row, reasons[i]));
    }
  }

  /** @param callOf names the call to one of the places where the message may be */
  async #change(row: OutboxRow, callOf: (place: number) => CallId): Promise<RefusedRow[]> {
    const { broker, clock, timeout } = this.#options;
    const { messages } = broker;
    const serve = <T>(operation: () => Promise<T>): Promise<T> => serveWithin(clock, timeout, operation);
    const change = async (partition: Partition, call: CallId, storedId: string): Promise<string> =>
      row.kind === CANCEL
        ? messages.cancel(partition, call, storedId)
        : messages.reschedule(partition, call, storedId, { at: row.dueAt ?? 0 });
    let places = 0;
    try {
      const { topic, partitions } = await this.#routeOf(row.topic);
      await findMessage(
        { topic, partitions, ref: refOf(row) },
        (partition, id) => serve(() => messages.locate(partition, id)),
        async (partition, storedId) => {
          const call = callOf(places++);
          const answer = await serve(() => change(partition, call, storedId));
          return answer === 'not-found' || answer === 'dead' ? undefined : answer;
        },
      );
      return [];
    } catch (error) {
      return refusals(row, error);
    }
  }

  async #routeOf(topic: string): Promise<Route> {
    const { topics, clock, timeout } = this.#options;
    return { topic, partitions: await partitionsOf(topics, topic, clock, timeout) };
  }
}

/**
 * Splits rows so that those of a key come one after the other, though others need not wait for them. Calls of a batch are named by their
 * steps, so every version has to make the same ones.
 */
function stepsOf(rows: readonly OutboxRow[]): OutboxRow[][] {
  const steps: OutboxRow[][] = [];
  const latest = new Map<string, { readonly step: number; readonly kind: number }>();
  for (const row of rows) {
    const { topic, key, id, kind } = row;
    const name = `${topic}\0${key ?? id}`;
    const before = latest.get(name);
    // Messages of one call keep their order.
    const isTogether = before?.kind === PUBLISH && kind === PUBLISH;
    const step = before ? before.step + (isTogether ? 0 : 1) : 0;
    latest.set(name, { step, kind });
    (steps[step] ??= []).push(row);
  }
  return steps;
}

interface Contents {
  readonly messages: RowMessage[];
  readonly changes: OutboxRow[];
  readonly unreadable: RefusedRow[];
}

function contentsOf(rows: readonly OutboxRow[]): Contents {
  const contents: Contents = { messages: [], changes: [], unreadable: [] };
  for (const row of rows) {
    try {
      if (row.kind === PUBLISH) contents.messages.push({ row, request: toRequest(row) });
      else if (row.kind === CANCEL || row.kind === RESCHEDULE) contents.changes.push(row);
      else throw new TypeError(`There is no kind ${row.kind} of rows.`);
    } catch (error) {
      contents.unreadable.push({ row, error: error as Error });
    }
  }
  return contents;
}

/** Groups messages by topic, and by what they ask of replicas. */
function groupsOf(messages: readonly RowMessage[]): RowMessage[][] {
  const groups: RowMessage[][] = [];
  for (const message of messages) {
    const isSame = ([first]: readonly RowMessage[]): boolean =>
      first?.row.topic === message.row.topic && isSameRequirement(first.request.replicas, message.request.replicas);
    const group = groups.find(isSame);
    if (group) group.push(message);
    else groups.push([message]);
  }
  return groups;
}

function reasonOf(result: PromiseSettledResult<unknown>): unknown {
  return result.status === 'rejected' ? result.reason : undefined;
}

/**
 * Returns the refusal of a row for an error; none if the row was sent all the same.
 *
 * @throws BrokerUnavailableError if it can be sent later
 */
function refusals(row: OutboxRow, error: unknown): RefusedRow[] {
  if (error instanceof BrokerUnavailableError && !error.refused) throw error;
  // Such a message is stored, and to publish it once more would change nothing.
  if (error === undefined || error instanceof NotReplicatedError) return [];
  return [{ row, error: error as Error }];
}
