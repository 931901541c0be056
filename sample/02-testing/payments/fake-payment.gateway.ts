import type { Charge } from './payment.gateway.js';

/** Accepts every charge, unless a test sets {@link before}. */
export class FakePaymentGateway {
  readonly charges: Charge[] = [];
  /** Called before each charge; a charge fails if this throws. */
  before: (charge: Charge) => void | Promise<void> = () => {};

  async charge(charge: Charge): Promise<void> {
    await this.before(charge);
    this.charges.push(charge);
  }
}
