import { randomUUID } from 'node:crypto';
import type { Partition, SettleStatus, Settlement, StoredMessage } from '../broker/broker.interface.js';
import { callsOf, repeatableCallsOf } from '../broker/call-names.js';
import { serveWithin } from '../broker/serve.js';
import { settleAll } from '../broker/settle-all.js';
import type { ConsumerContext } from '../consumer/consumer-context.js';
import type { DeadLetterNotifier } from '../consumer/dead-letter-notifier.js';
import { Delivery } from '../consumer/delivery.js';
import { toDeliveryOutcome } from '../consumer/settler.js';
import { DeliveryReporter } from '../consumer/delivery-reporter.js';
import { ACKED, RELEASED, type Verdict, failedAttempt, givenUp, outcomeOf } from '../consumer/verdict.js';
import { WorkMeter } from '../fleet/work-meter.js';
import { quoted } from '../log.js';
import { decodeEnvelope } from '../messages/envelope.js';
import { settleWithin } from '../middleware/middleware-layers.js';
import { ChangeLane } from '../topics/change-lane.js';
import { partitionCount, partitionsOf } from '../topics/partitions.js';
import { Lanes } from '../topics/lanes.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import type { ReceivedDelivery } from './receipts.js';

export interface ReceiptSettlerOptions {
  readonly context: ConsumerContext;
  readonly topics: TopicRegistry;
  /** Longest time for an answer, in milliseconds. */
  readonly timeout: number;
  /** Tells hooks of dead letters; `undefined` if this process consumes nothing. */
  readonly notifier: () => DeadLetterNotifier | undefined;
  /** Counts what this process does for a topic. */
  readonly meter: (topic: string) => WorkMeter | undefined;
}

/** What becomes of a message that was received. */
export type Decision =
  | { readonly kind: 'ack' }
  | { readonly kind: 'release' }
  /** @param delay milliseconds; `undefined`: by the backoff of the message or its topic */
  | { readonly kind: 'retry'; readonly error: unknown; readonly delay: number | undefined }
  | { readonly kind: 'dead'; readonly error: unknown };

/** A receipt, and what is to become of its message. */
export interface DecidedReceipt {
  readonly received: ReceivedDelivery;
  readonly decision: Decision;
}

/** What is known of a delivery when it is settled by its receipt. */
interface Settling {
  readonly delivery: Delivery;
  readonly verdict: Verdict;
}

/** Settles deliveries by their receipts, whichever process has received them. */
export class ReceiptSettler {
  readonly #options: ReceiptSettlerOptions;
  readonly #lanes: Lanes<ChangeLane>;
  /** Beside the others, since what is settled in one partition may hold them all. */
  readonly #holds: Lanes<ChangeLane>;

  /** @param once names what is settled through this one, and may be settled again */
  constructor(options: ReceiptSettlerOptions, once?: string) {
    this.#options = options;
    const { context, timeout } = options;
    const { clock } = context;
    const caller = once ?? randomUUID();
    const namesOf = once === undefined ? callsOf : repeatableCallsOf;
    const lanesOf = (kind: string) =>
      new Lanes((partition) => new ChangeLane({ clock, calls: namesOf(`${caller}:${kind}`), partition, timeout }));
    this.#lanes = lanesOf('receipt');
    this.#holds = lanesOf('hold');
  }

  /** For one operation: if it is made again within two minutes, in whichever process, it gets its first answer. */
  once(operation: string): ReceiptSettler {
    return new ReceiptSettler(this.#options, operation);
  }

  /**
   * Settles some of one partition, with one call.
   *
   * @returns a status for each, in their order
   * @throws BrokerUnavailableError if it was not confirmed in time: they may have been settled
   */
  async settle(partition: Partition, decided: readonly DecidedReceipt[]): Promise<readonly SettleStatus[]> {
    // What is gone needs no ack, and nothing else can become of it.
    const statuses = decided.map(({ received, decision }): SettleStatus =>
      received.isGone && decision.kind === 'ack' ? 'settled' : 'stale',
    );
    const leased = decided.flatMap((one, i) => (one.received.isGone ? [] : [{ ...one, i }]));
    if (leased.length === 0) return statuses;
    const count = await this.#partitionsOf(partition.topic);
    if (partition.index >= count) return statuses;
    const settlings = await Promise.all(leased.map(async (one) => this.#settling(partition, one)));
    const settle = async (): Promise<readonly SettleStatus[]> => this.#send(partition, settlings);
    const { settleLayers } = this.#options.context;
    const answers = settleLayers
      ? await settleWithin(settleLayers, settlings.map(toDeliveryOutcome), settle, (error) =>
          this.#tellFault(partition, error),
        )
      : await settle();
    settlings.forEach(({ delivery, verdict }, n) => {
      const status = answers[n] as SettleStatus;
      statuses[(leased[n] as (typeof leased)[number]).i] = status;
      this.#tell(delivery, verdict, status);
    });
    const delays = leased.flatMap((one, n) => (answers[n] === 'stale' ? [] : this.#delayOfTopic(one)));
    if (delays.length > 0) await this.#hold(partition.topic, count, Math.max(...delays));
    return statuses;
  }

  /** Whether there is such a partition: whoever makes up a receipt must not make up one, which would be kept in memory. */
  async knows({ topic, index }: Partition): Promise<boolean> {
    return index < (await this.#partitionsOf(topic));
  }

  /** For how long a rate limit that was met concerns all of the topic, in milliseconds. Of a repeat, too: the first one may have failed after the settle. */
  #delayOfTopic({ received, decision }: DecidedReceipt): number[] {
    if (decision.kind !== 'retry') return [];
    const { attempts, backoff } = this.#options.topics.settings(received.partition.topic);
    const outcome = outcomeOf(decision.error, { attempt: received.attempt, maxAttempts: attempts }, backoff);
    return outcome.kind === 'put-off' && outcome.scope === 'topic' ? [outcome.delay] : [];
  }

  /** @throws BrokerUnavailableError if some partition does not know of it in time */
  async #hold(topic: string, partitions: number, delay: number): Promise<void> {
    const { broker, events } = this.#options.context;
    if (events.wants('held')) events.emit('held', { topic, delay });
    await Promise.all(
      partitionsOf(topic, partitions).map(({ index }) =>
        this.#holds.get(topic, index).send((partition, call) => broker.hold(partition, call, delay)),
      ),
    );
  }

  async #send(partition: Partition, settlings: readonly Settling[]): Promise<readonly SettleStatus[]> {
    const { context, topics } = this.#options;
    const keepsFinished = topics.settings(partition.topic).finished !== undefined;
    const settlements = settlings.map(({ delivery, verdict: { outcome } }): Settlement => {
      const { storedId, token, duration } = delivery;
      return { storedId, token, outcome, ...(keepsFinished && { duration: Math.round(duration) }) };
    });
    const process = keepsFinished ? context.member : undefined;
    const lane = this.#lanes.get(partition.topic, partition.index);
    return settleAll(settlements, (some) =>
      lane.send((_, call) => context.broker.settle(partition, call, some, process)),
    );
  }

  /** How many partitions a topic has; 0 if nobody has used it. */
  async #partitionsOf(topic: string): Promise<number> {
    const { topics, context, timeout } = this.#options;
    const { broker, clock } = context;
    const known = topics.knownPartitions(topic);
    return known ?? (await serveWithin(clock, timeout, () => partitionCount(broker, topic))) ?? 0;
  }

  async #settling(partition: Partition, { received, decision }: DecidedReceipt): Promise<Settling> {
    const { broker } = this.#options.context;
    const { storedId } = received;
    // What is kept of a failure depends on the message. If that is in flight no more, the receipt is stale, unless this is a repeat of what
    // nobody may have told yet: Redis knows.
    const isFailure = decision.kind === 'retry' || decision.kind === 'dead';
    const stored = isFailure
      ? await this.#lanes.get(partition.topic, partition.index).send((at) => broker.get(at, storedId))
      : undefined;
    const delivery = deliveryOf(received, stored);
    const now = this.#options.context.clock.now();
    // How long it was in the hands of its receiver, by the broker's clock at both ends.
    delivery.startedAt = now - Math.max(0, broker.now(partition) - received.receivedAt);
    delivery.settle(now);
    return { delivery, verdict: this.#verdictOf(delivery, stored, decision) };
  }

  #verdictOf(delivery: Delivery, stored: StoredMessage | undefined, decision: Decision): Verdict {
    if (decision.kind === 'ack') return ACKED;
    if (decision.kind === 'release') return RELEASED;
    const { context, topics } = this.#options;
    const settings = topics.settings(delivery.partition.topic);
    const { attempts, backoff } = stored ? ownSettings(stored.envelope) : {};
    const number = { attempt: delivery.attempt, maxAttempts: attempts ?? settings.attempts };
    const run = { at: context.broker.now(delivery.partition), duration: delivery.duration };
    if (decision.kind === 'dead') return givenUp(decision.error, number, run);
    const { delay } = decision;
    return failedAttempt(
      decision.error,
      number,
      delay === undefined ? (backoff ?? settings.backoff) : () => delay,
      run,
    );
  }

  #tell(delivery: Delivery, verdict: Verdict, status: SettleStatus): void {
    const { context, topics, meter, notifier } = this.#options;
    const { log, events } = context;
    const { topic, index } = delivery.partition;
    if (status === 'stale') {
      log.warn(
        `Late settle of message ${quoted(delivery.id)} (topic '${topic}', partition ${index}, attempt ${delivery.attempt}) had no ` +
          `effect: its lease had ended, or it was settled before.`,
      );
      if (events.wants('stale')) events.emit('stale', delivery.describe());
      return;
    }
    const work = meter(topic) ?? new WorkMeter(topic);
    const reporter = new DeliveryReporter({ context, handler: { name: RECEIVER }, work }, topics.knownOrder(topic));
    reporter.report(delivery, verdict, status);
    // Without its envelope there is nothing to tell a hook of: the dead letter is gone already.
    if (status === 'settled' && verdict.outcome.kind === 'dead' && delivery.envelope !== '') {
      notifier()?.notify(delivery, verdict.outcome, topics.settings(topic).serializer);
    }
  }

  #tellFault({ topic, index }: Partition, error: unknown): void {
    this.#options.context.events.emit('errors', { source: 'hook', topic, partition: index, error });
  }
}

/** What stands in the place of a handler in logs and errors. */
export const RECEIVER = 'receive()';

/** Of another process's delivery only what settling needs is known. */
function deliveryOf(
  { partition, storedId, token, attempt, isGone }: ReceivedDelivery,
  stored: StoredMessage | undefined,
): Delivery {
  const claimed = {
    storedId,
    token,
    delivery: stored?.deliveries ?? attempt,
    attempt,
    weight: 0,
    dueAt: stored?.at ?? 0,
    envelope: stored?.envelope ?? '',
  };
  return new Delivery(partition, claimed, isGone ? Infinity : (stored?.at ?? 0));
}

function ownSettings(envelope: string): Partial<Pick<ReturnType<typeof decodeEnvelope>, 'attempts' | 'backoff'>> {
  try {
    return decodeEnvelope(envelope);
  } catch {
    return {};
  }
}
