import { serveWithin } from '../../store/calls/serve.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { SettleStatus } from '../../messages/settle-status.js';
import { within } from '../../time/deadline.js';
import type { ConsumerContext } from '../consumer-context.js';
import { Delivery } from '../delivery/delivery.js';
import type { TakenDeliveries } from '../delivery/taken-deliveries.js';
import type { TopicConsumer } from '../ownership/topic-consumer.js';
import { type ReceiptContent, decodeReceipt } from './receipt.js';
import type { ExtendResult } from './received-message.js';
import { type CheckedOutcome, verdictOf } from './received-outcome.js';

export interface ReceiptsOptions {
  readonly context: ConsumerContext;
  /** Resolves with the consumer of a topic; `undefined` if there is no such topic. */
  readonly consumerOf: (topic: string) => Promise<TopicConsumer | undefined>;
  /** Time limit for a call to Redis, in milliseconds. */
  readonly timeout: number;
}

/** A receipt's content, and the places where it is used. */
interface Used {
  readonly content: ReceiptContent;
  readonly consumer: TopicConsumer;
  readonly taken: TakenDeliveries;
}

function notConfirmed(): BrokerUnavailableError {
  return new BrokerUnavailableError(
    'Redis does not answer. The outcome is sent until it does, so it may take effect yet',
  );
}

function refused(): BrokerUnavailableError {
  const kind = { transient: false, refused: true };
  return new BrokerUnavailableError(
    "Redis refuses the outcome; the log of this process, and its event 'errors', have why",
    kind,
  );
}

/** Settles and extends deliveries by their receipts, whichever process gave them. */
export class Receipts {
  readonly #options: ReceiptsOptions;

  constructor(options: ReceiptsOptions) {
    this.#options = options;
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError */
  async settle(receipt: string, outcome: CheckedOutcome): Promise<SettleStatus> {
    const used = await this.#use(receipt);
    if (!used) return 'stale';
    const { context, timeout } = this.#options;
    const { content, consumer, taken } = used;
    // No await until it is settled, or two settles could find the same delivery.
    const delivery = this.#deliveryOf(used);
    const at = context.broker.now(content.partition);
    const run = { at, duration: Math.max(0, at - content.receivedAt) };
    const backoff = content.backoff ?? consumer.settings.backoff;
    const settling = taken.settle(delivery, verdictOf(outcome, content, backoff, run), outcome.operation);
    const status = await within(context.clock, timeout, settling, { error: notConfirmed });
    if (status === undefined) throw refused();
    if (status !== 'stale') this.#tell(content, 0);
    return status;
  }

  /**
   * @param lease milliseconds
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async extend(receipt: string, lease: number): Promise<ExtendResult> {
    const used = await this.#use(receipt);
    if (!used) return 'stale';
    const { context, timeout } = this.#options;
    const { content, taken } = used;
    const delivery = this.#deliveryOf(used);
    const [status] = await serveWithin(context.clock, timeout, () => taken.extend([delivery], lease));
    if (status !== 'extended' && status !== 'cancelled') return 'stale';
    this.#tell(content, lease);
    return status;
  }

  /** @returns `undefined` if there is no such topic */
  async #use(receipt: string): Promise<Used | undefined> {
    const content = decodeReceipt(receipt);
    const { topic, index } = content.partition;
    const consumer = await this.#options.consumerOf(topic);
    if (!consumer) return undefined;
    if (index < 0 || index >= consumer.partitions) {
      throw new InvalidArgumentError(
        `A receipt names partition ${index} of topic '${topic}', which has ${consumer.partitions}.`,
      );
    }
    return { content, consumer, taken: consumer.takenOf(index) };
  }

  /** Returns the delivery of a receipt; rebuilt from the receipt if this process has not handed it out, or has forgotten it. */
  #deliveryOf({ content, taken }: Used): Delivery {
    const known = taken.find(content);
    if (known) return known;
    const { clock, broker } = this.#options.context;
    const { partition, storedId, token, attempt, receivedAt } = content;
    const unknown = { delivery: attempt, weight: 0, dueAt: receivedAt, envelope: '' };
    const delivery = new Delivery(partition, { storedId, token, attempt, ...unknown }, Infinity);
    delivery.startedAt = clock.now() - Math.max(0, broker.now(partition) - receivedAt);
    return delivery;
  }

  /** Tells the process that may have permits for the delivery. If the signal is lost, it finds out when the lease ends. */
  #tell({ partition, token, holder }: ReceiptContent, lease: number): void {
    const { broker, session } = this.#options.context;
    if (holder === undefined || holder === session) return;
    void broker.fleet.tell({ to: holder, signal: { kind: 'lease', partition, token, lease } }).catch(() => {});
  }
}
