import type { SettleStatus } from '../../messages/settle-status.js';
import type { Receipt } from '../../store/deliveries/receipt.js';
import type { ExtendStatus } from '../../store/deliveries/settle.js';
import type { Partition } from '../../store/partition.js';
import { DeliveryAbortedError } from '../../errors/handling.errors.js';
import type { Delivery } from './delivery.js';
import type { Leased } from './lease-ends.js';
import type { Settler } from './settler.js';
import type { TopicHandling } from './topic-handling.js';
import type { Verdict } from './verdict.js';

/**
 * Deliveries of one partition that receivers have taken and not settled yet, as far as this process knows: any process can settle them, and
 * this one does not renew their leases.
 *
 * A delivery holds the payload of its message, so it is kept only as long as code in this process has the message, or others have to wait
 * until it ends: deliveries settled elsewhere are forgotten at the next garbage collection, or stay until their leases end.
 */
export class TakenDeliveries implements Leased {
  readonly partition: Partition;
  readonly #handling: TopicHandling;
  readonly #settler: Settler;
  readonly #byToken = new Map<string, Delivery | WeakRef<Delivery>>();
  readonly #collected = new FinalizationRegistry<string>((token) => this.#byToken.delete(token));
  /** Callbacks for the effect of an outcome; `undefined` if it was refused. */
  readonly #answers = new Map<Delivery, (status: SettleStatus | undefined) => void>();

  constructor(handling: TopicHandling, partition: Partition, settler: Settler) {
    this.#handling = handling;
    this.partition = partition;
    this.#settler = settler;
  }

  get size(): number {
    return this.#byToken.size;
  }

  *#deliveries(): Generator<Delivery> {
    for (const token of this.#byToken.keys()) {
      const delivery = this.find({ token });
      if (delivery) yield delivery;
      else this.#byToken.delete(token);
    }
  }

  get unsettled(): Iterable<Delivery> {
    return this.#deliveries();
  }

  add(delivery: Delivery): void {
    const keepsOthersBack = delivery.weight > 0 || delivery.permits?.isRenewed === true;
    this.#byToken.set(delivery.token, keepsOthersBack ? delivery : new WeakRef(delivery));
    if (!keepsOthersBack) this.#collected.register(delivery, delivery.token);
    this.#handling.leaseEnds.watch(this, delivery.endsAt);
  }

  find({ token }: Pick<Receipt, 'token'>): Delivery | undefined {
    const kept = this.#byToken.get(token);
    return kept instanceof WeakRef ? kept.deref() : kept;
  }

  /**
   * Settles a delivery, which may have been taken elsewhere; the outcome is sent until Redis answers.
   *
   * @param operation name of the settle, under which it can be repeated
   * @returns `undefined` if it was refused
   */
  async settle(delivery: Delivery, verdict: Verdict, operation?: string): Promise<SettleStatus | undefined> {
    const { context, admission } = this.#handling;
    // The first verdict on a delivery counts.
    if (delivery.settled) return 'stale';
    this.#remove(delivery);
    delivery.settle(context.clock.now());
    admission.heed(verdict.outcome);
    return new Promise((resolve) => {
      this.#answers.set(delivery, resolve);
      this.#settler.settle(delivery, verdict, operation);
    });
  }

  /**
   * Call this with the effect of an outcome, and when nothing more is done about it; the first call counts.
   *
   * @returns whether a caller waited for it
   */
  answered(delivery: Delivery, status?: SettleStatus): boolean {
    // Nobody waits for what handlers of this process have handled.
    if (this.#answers.size === 0) return false;
    this.#answers.get(delivery)?.(status);
    return this.#answers.delete(delivery);
  }

  /**
   * Renews leases: they last for `lease` milliseconds from now on.
   *
   * @param deliveries 1 to `MAX_BATCH`
   * @throws BrokerUnavailableError
   */
  async extend(deliveries: readonly Delivery[], lease: number): Promise<ExtendStatus[]> {
    const { broker, clock } = this.#handling.context;
    const sentAt = clock.now();
    const statuses = await broker.deliveries.extend(this.partition, lease, deliveries);
    for (const [i, delivery] of deliveries.entries()) {
      this.lasts(delivery, statuses[i] === 'lost' ? -Infinity : sentAt + lease);
      if (statuses[i] === 'cancelled') delivery.abort(new DeliveryAbortedError('CANCELLED'));
    }
    return statuses;
  }

  /** Sets a new lease end for a delivery whose receipt was used, in epoch milliseconds on the local clock. */
  lasts(delivery: Delivery, leaseEndsAt: number): void {
    delivery.leaseEndsAt = leaseEndsAt;
    if (this.find(delivery) === delivery) this.#handling.leaseEnds.watch(this, delivery.endsAt);
  }

  lapsed(delivery: Delivery): void {
    this.#remove(delivery);
    this.#handling.admission.ended(delivery);
  }

  /** Removes a delivery. A suspect takes its room for as long as its receiver may be at work on it. */
  #remove(delivery: Delivery): void {
    if (this.#byToken.delete(delivery.token)) this.#handling.admission.leftRoom(delivery);
  }
}
