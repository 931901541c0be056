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

/** A timer that is later than this, in milliseconds, has waited for the event loop: nobody could have read an answer meanwhile. */
const BUSY = 100;

/** Told once for each of the messages that were published together, by its place among them, what became of it. */
export interface PublishSink {
  answered(place: number, result: PublishResult): void;
  failed(place: number, error: unknown): void;
}

/** On which terms messages travel. */
export interface Terms {
  /** That have to confirm them. */
  readonly replicas?: ReplicaRequirement | undefined;
  /** Names their call, which is made again under this name; `undefined`: nobody makes it again. */
  readonly operation?: string | undefined;
}

/** Whether messages may be part of one call. */
export function travelTogether(a: Terms, b: Terms): boolean {
  return a.operation === b.operation && isSameRequirement(a.replicas, b.replicas);
}

/** Messages that were given together and travel in the same call. */
interface PendingPublish {
  readonly messages: readonly NewMessage[];
  /** Characters of their envelopes. */
  readonly length: number;
  /** Local clock, epoch milliseconds. */
  deadline: number;
  /** Whether it was put off, since this process itself was busy. */
  isPutOff?: boolean;
  /** Place of the first message among those that were given. */
  readonly from: number;
  readonly terms: Terms;
  /** `undefined` once it was told. */
  sink: PublishSink | undefined;
}

export interface PublishLaneOptions {
  readonly store: Pick<MessageStore, 'publish'>;
  readonly clock: Clock;
  /** Names this process among the publishers. */
  readonly caller: string;
  readonly partition: Partition;
  /** Of the topic. */
  readonly order?: TopicOrder | undefined;
  /** Milliseconds. */
  readonly timeout: number;
  /**
   * Called with the topic when a call was answered: once for each call, not for each message.
   *
   * @param isNewPartition the partition is new, or Redis has lost it
   */
  readonly onSent?: ((topic: string, isNewPartition: boolean) => void) | undefined;
}

/**
 * Publishes to one partition. One call is under way at a time; what is published in the same turn of the event loop, or
 * during the call before, travels together.
 */
export class PublishLane {
  readonly #options: PublishLaneOptions;
  readonly #queue: PendingPublish[] = [];
  readonly #sending: Loop;
  #sequence = 0;
  /** What the call under way carries. */
  #sent: readonly PendingPublish[] = [];
  /** Aborted when nobody waits for the call under way any more. */
  #abandon = new AbortController();
  #lastFailure: BrokerUnavailableError | undefined;
  #timer: Timer | undefined;

  constructor(options: PublishLaneOptions) {
    this.#options = options;
    this.#sending = new Loop({ clock: options.clock, run: () => this.#sendAll(), gather: true });
  }

  /**
   * Messages fail with a `BrokerUnavailableError` if they could not be confirmed in time.
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
    // A call that is made again has to have the same messages.
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

  /** Never rejects: each message's sink is told what went wrong. */
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

  /** @param from the place of the first message among those of its operation, by which it is named: an id may be there twice */
  async #call(messages: readonly NewMessage[], { replicas, operation }: Terms, from: number): Promise<PublishResult[]> {
    const { store, clock, caller, partition, order, onSent } = this.#options;
    const call: CallId =
      operation === undefined
        ? { caller, sequence: ++this.#sequence }
        : namedCall(operation, `${from}:${messages.length}:${messages[0]?.storedId}`);
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
   * Fails what has waited too long. What was not sent by then is not sent any more.
   *
   * @param late how long the event loop was busy with other work, in milliseconds: that is no fault of Redis
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

  /** Once for each of them, by its whole time: how long the event loop was busy before is not known. */
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

/** Stands for the result of a message that was not published. */
class Failed {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** Whether that is more than one call carries. */
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

/** @param at the place of the first result that belongs to these messages */
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
