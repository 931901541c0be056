import type { SettleStatus } from '../../messages/settle-status.js';
import type { Receipt } from '../../store/deliveries/receipt.js';
import { MAX_BATCH } from '../../store/partition.js';
import type { DecidedDelivery } from './decided-delivery.js';

/** Called once, at the end. */
interface EndOfClaim {
  /** The claim was answered, and with it each delivery. */
  answered(deliveries: readonly DecidedDelivery[], statuses: readonly SettleStatus[]): void;
  /** It is not known whether they have ended. */
  failed(deliveries: readonly DecidedDelivery[]): void;
}

/** Deliveries that have succeeded, and that a claim of their partition takes along to end them. */
export class SucceededDeliveries {
  readonly deliveries: readonly DecidedDelivery[];
  /** Resolves at the end. */
  readonly ended: Promise<void>;
  readonly #end: EndOfClaim;
  #resolve!: () => void;

  constructor(deliveries: readonly DecidedDelivery[], end: EndOfClaim) {
    this.deliveries = deliveries;
    this.#end = end;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  get receipts(): readonly Receipt[] {
    return this.deliveries.map(({ delivery }) => delivery);
  }

  /** @param statuses how they have ended, in their order */
  answered(statuses: readonly SettleStatus[]): void {
    this.#end.answered(this.deliveries, statuses);
    this.#resolve();
  }

  failed(): void {
    this.#end.failed(this.deliveries);
    this.#resolve();
  }
}

/** Whether a claim can take along a delivery: its message was handled, and nobody repeats the call that says so. */
export function canGoAlong({ operation, verdict }: DecidedDelivery): boolean {
  return operation === undefined && verdict.outcome.kind === 'ack';
}

/** Divides outcomes into those that one claim can take along, and the others. */
export function splitByClaim(pending: readonly DecidedDelivery[]): {
  along: readonly DecidedDelivery[];
  others: DecidedDelivery[];
} {
  const along: DecidedDelivery[] = [];
  const others: DecidedDelivery[] = [];
  for (const decided of pending) (along.length < MAX_BATCH && canGoAlong(decided) ? along : others).push(decided);
  return { along, others };
}
