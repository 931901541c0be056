import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Partition } from '../broker/broker.interface.js';
import { DeliveryAbortedError } from '../errors/handling.errors.js';
import { type PlannedCall, planCalls } from './call-plan.js';
import { CallSlot } from './call-slot.js';
import type { ConsumerContext } from './consumer-context.js';
import { type CheckResult, type CheckedDelivery, DeliveryCheck } from './delivery-check.js';
import { type Delivery, NOTHING_RUNS } from './delivery.js';
import { type DeadOutcome, DeliveryReporter } from './delivery-reporter.js';
import { HandlerCall, type HandlerCallOptions } from './handler-call.js';
import type { RunningDeliveries } from './lease-renewer.js';
import type { HandlerSettings, MessageHandler } from './message-handler.interface.js';
import type { Settler } from './settler.js';
import { RELEASED, type Verdict } from './verdict.js';

export interface MessageDispatcherOptions {
  readonly context: ConsumerContext;
  readonly partition: Partition;
  readonly handler: MessageHandler;
  /** What payloads have to fit before the handler gets them. */
  readonly schema: StandardSchemaV1 | undefined;
  readonly settings: HandlerSettings;
  readonly settler: Settler;
  /** Told when a call needs its slot no more. */
  readonly onSlotFree: () => void;
  /** Told when a message has become a dead letter. */
  readonly onDead: (delivery: Delivery, outcome: DeadOutcome) => void;
}

/** Runs one partition's deliveries: groups them into calls of the handler, and settles what becomes of each. */
export class MessageDispatcher {
  readonly #options: MessageDispatcherOptions;
  readonly #check: DeliveryCheck;
  readonly #callOptions: HandlerCallOptions;
  readonly #reporter: DeliveryReporter;
  #running: RunningDeliveries = new Map();

  constructor(options: MessageDispatcherOptions) {
    this.#options = options;
    const { context, handler, onDead } = options;
    this.#reporter = new DeliveryReporter({ context, handler: handler.name, onDead });
    this.#check = new DeliveryCheck(options);
    this.#callOptions = {
      context,
      handler,
      settle: (delivery, verdict) => this.#settle(delivery, verdict),
      onEnd: (delivery) => this.#forget(delivery),
    };
  }

  /** Those whose handlers run, or wait for an earlier run of the same message to end. */
  get running(): RunningDeliveries {
    return this.#running;
  }

  /**
   * Takes what was claimed.
   *
   * @param slots enough for the deliveries in full batches
   * @returns how many of the slots it uses; each is free again after its call
   */
  dispatch(deliveries: readonly Delivery[], slots: number): number {
    // Made anew where it is empty: the tables that an old map outgrows hold what was in them until a full collection, and
    // with many partitions every map grows old between two claims.
    if (this.#running.size === 0) this.#running = new Map();
    const { calls, excess } = planCalls(deliveries, this.#running, { size: this.#options.handler.batch ?? 1, slots });
    for (const call of calls) this.#start(call);
    for (const delivery of excess) this.#settle(delivery, RELEASED);
    return calls.length;
  }

  /** Tells of a message that was made a dead letter beside its delivery. */
  tellSetAside(delivery: Delivery, outcome: DeadOutcome): void {
    this.#reporter.report(delivery, { outcome })?.('settled');
  }

  /** Gives back what still runs: the signals abort, and the messages are at once free for another process. */
  releaseAll(): void {
    for (const delivery of this.#running.values()) {
      delivery.abort(new DeliveryAbortedError('SHUTDOWN'));
      this.#settle(delivery, RELEASED);
    }
  }

  #start({ deliveries, after }: PlannedCall): void {
    const slot = new CallSlot(deliveries.length, this.#options.onSlotFree);
    for (const delivery of deliveries) {
      delivery.slot = slot;
      // Its lease ended unnoticed, as where the event loop was blocked. The same message never runs twice at once here.
      if (after) this.#running.get(delivery.storedId)?.abort(new DeliveryAbortedError('LEASE_LOST'));
      this.#running.set(delivery.storedId, delivery);
    }
    const finished = after ? after.then(() => this.#run(deliveries)) : this.#run(deliveries);
    for (const delivery of deliveries) delivery.finished = finished;
  }

  /** Never rejects. */
  #run(deliveries: readonly Delivery[]): Promise<void> {
    const checks = deliveries.map((delivery) => this.#check.check(delivery));
    if (checks.every(isKnown)) return this.#call(deliveries, checks);
    return Promise.all(checks.map(async (check) => check)).then((results) => this.#call(deliveries, results));
  }

  #call(deliveries: readonly Delivery[], results: readonly CheckResult[]): Promise<void> {
    const checked: CheckedDelivery[] = [];
    deliveries.forEach((delivery, i) => {
      const result = results[i] as CheckResult;
      if ('outcome' in result) this.#settle(delivery, result);
      // It may have been given back while the checks took their time.
      else if (!delivery.settled) checked.push(result);
      if (delivery.settled) this.#forget(delivery);
    });
    return checked.length === 0 ? NOTHING_RUNS : new HandlerCall(this.#callOptions, checked).run();
  }

  #forget(delivery: Delivery): void {
    if (this.#running.get(delivery.storedId) === delivery) this.#running.delete(delivery.storedId);
  }

  /** The first verdict on a delivery counts. */
  #settle(delivery: Delivery, verdict: Verdict): void {
    if (delivery.settled) return;
    delivery.settled = true;
    this.#options.settler.settle(delivery, verdict.outcome, this.#reporter.report(delivery, verdict));
    delivery.slot?.settled();
  }
}

function isKnown(check: CheckResult | Promise<CheckResult>): check is CheckResult {
  return !(check instanceof Promise);
}
