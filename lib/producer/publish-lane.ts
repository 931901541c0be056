import type { ReplicaRequirement } from '../messages/replicas.js';
import type { MessageStore } from '../store/messages/message-store.js';
import type { TopicOrder } from '../store/fleet/topic-config.js';
import type { NewMessage, PublishResult } from '../store/messages/publish.js';
import { type CallId, MAX_BATCH, type Partition } from '../store/partition.js';
import type { Clock, Timer } from '../time/clock.js';
import { namedCall } from '../store/calls/named-call.js';
import { splitIfRefused } from '../store/calls/split-refused.js';
import { Loop } from '../time/loop.js';
import { repeatUntilServed } from '../store/calls/serve.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { isSameRequirement } from '../messages/replicas.js';

/** Most characters of the envelopes in one call, so that no call keeps Redis busy for long. */
const MAX_BATCH_LENGTH = 512 * 1024;

/** Lateness at which a timer has waited for the event loop, in milliseconds: no answer could have been read meanwhile. */
const BUSY = 100;

/** Receiver of the results of messages that were published together: called once for each, with its place among them. */
export interface PublishSink {
  answered(place: number, result: PublishResult): void;
  failed(place: number, error: unknown): void;
}

/** Terms on which messages travel. */
export interface Terms {
  /** Replicas that have to confirm them. */
  readonly replicas?: ReplicaRequirement | undefined;
  /** Name of their call, or caller and number of it, under which it can be repeated; `undefined` if it is not repeated. */
  readonly operation?: string | CallId | undefined;
}

/** Whether messages can be part of one call. */
export function travelTogether(a: Terms, b: Terms): boolean {
  return a.operation === b.operation && isSameRequirement(a.replicas, b.replicas);
}

/** Messages that were given together and travel in the same call. */
interface PendingPublish {
  readonly messages: readonly NewMessage[];
  /** Total length of their envelopes, in characters. */
  readonly length: number;
  /** Epoch milliseconds on the local clock. */
  deadline: number;
  /** Whether it was put off because this process itself was busy. */
  isPutOff?: boolean;
  /** Place of the first message among those that were given. */
  readonly from: number;
  readonly terms: Terms;
  /** Receiver of the results; `undefined` once it has got them. */
  sink: PublishSink | undefined;
}

export interface PublishLaneOptions {
  readonly store: Pick<MessageStore, 'publish'>;
  readonly clock: Clock;
  /** Name of this process as a publisher. */
  readonly caller: string;
  readonly partition: Partition;
  readonly order?: TopicOrder | undefined;
  /** Milliseconds. */
  readonly timeout: number;
  /**
   * Called with the topic when a call has been answered: once per call, not per message.
   *
   * @param isNewPartition whether the partition is new, or Redis has lost it
   */
  readonly onSent?: ((topic: string, isNewPartition: boolean) => void) | undefined;
}

/**
 * Publishes to one partition, one call at a time. Messages published in the same turn of the event loop, or during the previous call,
 * travel together.
 */
export class PublishLane {
  readonly #options: PublishLaneOptions;
  readonly #queue: PendingPublish[] = [];
  readonly #sending: Loop;
  #sequence = 0;
  /** Messages of the call under way. */
  #sent: readonly PendingPublish[] = [];
  /** Aborts when nobody waits for the call under way any more. */
  #abandon = new AbortController();
  #lastFailure: BrokerUnavailableError | undefined;
  #timer: Timer | undefined;

  constructor(options: PublishLaneOptions) {
    this.#options = options;
    this.#sending = new Loop({ clock: options.clock, run: () => this.#sendAll(), gather: true });
  }

  /**
   * Publishes messages. They fail with a `BrokerUnavailableError` if they are not confirmed in time.
   *
   * @param messages at least one
   */
  publish(messages: readonly NewMessage[], sink: PublishSink, terms: Terms = {}): void {
    const { clock, timeout } = this.#options;
    const deadline = clock.now() + timeout;
    let from = 0;
    let length = 0;
    for (let i = 0; i < messages.length; i++) {
      const more = (messages[i] as NewMessage).envelope.length;
      if (i > from && isTooMuch(i - from + 1, length + more)) {
        this.#queue.push({ messages: messages.slice(from, i), length, deadline, from, terms, sink });
        from = i;
        length = 0;
      }
      length += more;
    }
    const last = from === 0 ? messages : messages.slice(from);
    this.#queue.push({ messages: last, length, deadline, from, terms, sink });
    if (!this.#timer) this.#expireIn(timeout);
    this.#sending.poke();
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) await this.#send(this.#nextBatch());
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #nextBatch(): PendingPublish[] {
    const first = this.#queue[0]?.terms ?? {};
    // A repeated call has to have the same messages.
    if (first.operation !== undefined) return this.#queue.splice(0, 1);
    let count = 0;
    let length = 0;
    const end = this.#queue.findIndex((publish, i) => {
      count += publish.messages.length;
      length += publish.length;
      return i > 0 && (isTooMuch(count, length) || !travelTogether(publish.terms, first));
    });
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end);
  }

  /** Sends messages. Never rejects: each message's sink receives its error. */
  async #send(publishes: readonly PendingPublish[]): Promise<void> {
    this.#sent = publishes;
    const terms = publishes[0]?.terms ?? {};
    if (this.#abandon.signal.aborted) this.#abandon = new AbortController();
    // A message that is refused must not fail those of other callers that travel with it.
    const results = await splitIfRefused<NewMessage, PublishResult | Failed>(
      messagesOf(publishes),
      (messages, from) => this.#call(messages, terms, from),
      (_, error) => new Failed(error),
      publishes[0]?.from,
    );
    let next = 0;
    for (const publish of publishes) {
      tellResults(publish, results, next);
      next += publish.messages.length;
    }
    this.#sent = [];
    this.#lastFailure = undefined;
  }

  /** @param from place of the first message in its operation, which is part of the call's name: an id can be there twice */
  async #call(messages: readonly NewMessage[], { replicas, operation }: Terms, from: number): Promise<PublishResult[]> {
    const { store, clock, caller, partition, order, onSent } = this.#options;
    const call =
      operation === undefined
        ? { caller, sequence: ++this.#sequence }
        : partOf(operation, `${from}:${messages.length}`, messages[0]?.storedId);
    const results = await repeatUntilServed(() => store.publish(partition, call, messages, { replicas, order }), {
      clock,
      signal: this.#abandon.signal,
      onFailure: (error) => (this.#lastFailure = error),
    });
    onSent?.(partition.topic, results[0]?.isNewPartition === true);
    return results;
  }

  #expireIn(delay: number): void {
    const { clock } = this.#options;
    const at = clock.now() + delay;
    this.#timer = clock.setTimer(delay, () => this.#expire(clock.now() - at));
  }

  /**
   * Fails messages that have waited too long. Those not sent by then are not sent any more.
   *
   * @param late time for which the event loop was busy with other work, in milliseconds, for which Redis is not to blame
   */
  #expire(late: number): void {
    const { clock } = this.#options;
    const now = clock.now();
    if (late > BUSY) this.#putOff(now);
    const isOver = ({ deadline }: PendingPublish): boolean => deadline <= now;
    const sent = this.#sent;
    const overdue = [...sent.filter(isOver), ...this.#queue.splice(0, countWhile(this.#queue, isOver))];
    for (const publish of overdue) tellFailure(publish, this.#timeoutError());
    const next = [...sent, ...this.#queue].find((publish) => !isOver(publish));
    if (!sent.some((publish) => !isOver(publish))) this.#abandon.abort();
    this.#timer = undefined;
    if (next) this.#expireIn(next.deadline - now);
  }

  /** Puts each message off once, by its whole time limit: it is not known how long the event loop was busy before. */
  #putOff(now: number): void {
    for (const publish of [...this.#sent, ...this.#queue]) {
      if (!publish.isPutOff) publish.deadline = now + this.#options.timeout;
      publish.isPutOff = true;
    }
  }

  #timeoutError(): BrokerUnavailableError {
    const { partition, timeout } = this.#options;
    const detail = this.#lastFailure ? `: ${this.#lastFailure.message}` : '';
    return new BrokerUnavailableError(
      `Publishing to topic '${partition.topic}' was not confirmed within ${timeout} ms${detail}. Whether the message was ` +
        `stored is not known; publish it again under the same id to be sure.`,
      { cause: this.#lastFailure },
    );
  }
}

/** Result of a message that was not published. */
class Failed {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** Returns the name of the call for a part of an operation. */
function partOf(operation: string | CallId, part: string, firstId: string | undefined): CallId {
  if (typeof operation === 'string') return namedCall(operation, `${part}:${firstId}`);
  return { ...operation, caller: `${operation.caller}:${part}` };
}

/** Whether that is more than one call can carry. */
function isTooMuch(messages: number, length: number): boolean {
  return messages > MAX_BATCH || length > MAX_BATCH_LENGTH;
}

function messagesOf(publishes: readonly PendingPublish[]): readonly NewMessage[] {
  const [first] = publishes;
  if (first && publishes.length === 1) return first.messages;
  const all: NewMessage[] = [];
  for (const { messages } of publishes) all.push(...messages);
  return all;
}

/** @param at place of the first result that belongs to these messages */
function tellResults(publish: PendingPublish, results: readonly (PublishResult | Failed)[], at: number): void {
  const { sink, from, messages } = publish;
  publish.sink = undefined;
  for (let i = 0; i < messages.length; i++) {
    const result = results[at + i] as PublishResult | Failed;
    if (result instanceof Failed) sink?.failed(from + i, result.error);
    else sink?.answered(from + i, result);
  }
}

function tellFailure(publish: PendingPublish, error: unknown): void {
  const { sink, from, messages } = publish;
  publish.sink = undefined;
  for (let i = 0; i < messages.length; i++) sink?.failed(from + i, error);
}

function countWhile<T>(items: readonly T[], predicate: (item: T) => boolean): number {
  const end = items.findIndex((item) => !predicate(item));
  return end === -1 ? items.length : end;
}
