import { quoted } from '../../log.js';
import type { DeadLetter } from '../../messages/delayed-message.interface.js';
import { toFailure } from '../../messages/failure.js';
import { readablePart } from '../../messages/envelope.js';
import type { PayloadSerializer } from '../../messages/serializer.js';
import { toDate } from '../../time/date.js';
import { within } from '../../time/deadline.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { Delivery } from './delivery.js';
import type { DeadOutcome } from './verdict.js';

/** A hook called with a topic's dead letters: the runtime's view of a decorated method. */
export interface DeadLetterHook {
  /** Name for logs and errors, such as `OrderService.onDeadLetter`. */
  readonly name: string;
  readonly topic: string;
  call(letter: DeadLetter): unknown;
}

/** Most dead letters whose hooks run at once. */
const MAX_RUNNING = 10;

/** Time for which a hook keeps its place among those, in milliseconds; one that takes longer may hang. */
const PATIENCE = 30_000;

/** Most dead letters that wait for their hooks; beyond that, a hook that is slow or hangs would fill the memory. */
const MAX_WAITING = 1000;

interface NewDeath {
  readonly delivery: Delivery;
  readonly outcome: DeadOutcome;
  readonly hooks: readonly DeadLetterHook[];
  readonly serializer: PayloadSerializer | undefined;
}

/** Calls the hooks of the dead letters that this process makes, once their death is confirmed. */
export class DeadLetterNotifier {
  readonly #context: ConsumerContext;
  readonly #hooks = new Map<string, readonly DeadLetterHook[]>();
  readonly #waiting: NewDeath[] = [];
  #running = 0;
  #dropped = 0;
  readonly #closing = new AbortController();
  #onIdle: (() => void)[] = [];

  constructor(context: ConsumerContext, hooks: readonly DeadLetterHook[]) {
    this.#context = context;
    for (const hook of hooks) this.#hooks.set(hook.topic, [...(this.#hooks.get(hook.topic) ?? []), hook]);
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Number of dead letters whose hooks have not ended, except those that take too long. */
  get pending(): number {
    return this.#running + this.#waiting.length;
  }

  /** @param serializer the topic's */
  notify(delivery: Delivery, outcome: DeadOutcome, serializer?: PayloadSerializer): void {
    const hooks = this.#hooks.get(delivery.partition.topic);
    if (!hooks || this.#isClosed) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.#drop(delivery);
      return;
    }
    this.#waiting.push({ delivery, outcome, hooks, serializer });
    this.#startNext();
  }

  /** Resolves once no hook runs or waits. */
  async idle(): Promise<void> {
    if (this.pending > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** Stops calling hooks; those that run are left alone. */
  close(): void {
    this.#closing.abort();
    this.#waiting.length = 0;
  }

  #startNext(): void {
    while (this.#running < MAX_RUNNING) {
      const next = this.#waiting.shift();
      if (!next) break;
      this.#running++;
      void this.#callAll(next);
    }
    if (this.pending > 0) return;
    this.#dropped = 0;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** Never rejects. */
  async #callAll({ hooks, ...death }: NewDeath): Promise<void> {
    try {
      const letter = await this.#letterOf(death);
      if (!this.#isClosed) await Promise.all(hooks.map(async (hook) => this.#call(hook, letter)));
    } catch (error) {
      const { id, partition } = death.delivery;
      const place = { topic: partition.topic, partition: partition.index };
      this.#report(`The hooks of dead letter ${quoted(id)} of topic '${place.topic}' were not called`, place, error);
    }
    this.#running--;
    this.#startNext();
  }

  /** Never rejects. */
  async #call(hook: DeadLetterHook, letter: DeadLetter): Promise<void> {
    const which = `for dead letter ${quoted(letter.id)} of topic '${letter.topic}'`;
    const call = this.#callSafely(hook, letter, which);
    try {
      await within(this.#context.clock, PATIENCE, call, this.#closing);
    } catch (error) {
      // Nothing waits for it any more.
      if (this.#isClosed) return;
      this.#report(`${hook.name} has not ended ${which}; the others go on without waiting for it`, letter, error);
    }
  }

  /** Never rejects. */
  async #callSafely(hook: DeadLetterHook, letter: DeadLetter, which: string): Promise<void> {
    try {
      await hook.call(letter);
    } catch (error) {
      this.#report(`${hook.name} failed ${which}`, letter, error);
    }
  }

  /** Builds the dead letter with its stored history, or from what this process knows if that is out of reach. */
  async #letterOf({ delivery, outcome, serializer }: Omit<NewDeath, 'hooks'>): Promise<DeadLetter> {
    const { broker } = this.#context;
    const { partition, storedId, id, key, attempt } = delivery;
    const { failure, failedAttempt, spent = true } = outcome;
    const stored = await broker.messages.get(partition, storedId).catch(() => undefined);
    const isStillDead = stored?.state === 'dead';
    // Of a message that another process received, this one knows only the receipt.
    const envelope = delivery.envelope || (stored?.envelope ?? '');
    const { payload, headers } = readablePart(partition.topic, serializer, envelope);
    return {
      id,
      key,
      topic: partition.topic,
      partition: partition.index,
      payload,
      headers,
      failure,
      attempts: spent ? attempt : attempt - 1,
      history: isStillDead ? stored.history : failedAttempt ? [failedAttempt] : [],
      diedAt: toDate(isStillDead ? stored.at : Math.floor(broker.now(partition))),
      raw: envelope,
    };
  }

  #drop({ id, partition: { topic, index } }: Delivery): void {
    if (++this.#dropped > 1) return;
    const text = `${MAX_WAITING} dead letters wait for their hooks; those of ${quoted(id)} of topic '${topic}' and more are not called`;
    this.#report(text, { topic, partition: index }, new Error(text));
  }

  #report(text: string, { topic, partition }: { topic: string; partition: number }, error: unknown): void {
    const { log, events } = this.#context;
    events.emit('errors', { source: 'hook', topic, partition, error });
    log.error(text, stackOf(error));
  }
}

/** A hook can throw anything, even a value that cannot be inspected. */
function stackOf(error: unknown): string {
  const { stack, message } = toFailure('failed', error);
  return stack ?? message;
}
