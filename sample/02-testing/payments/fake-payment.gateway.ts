import type { Charge } from './payment.gateway.js';

/** Takes everything, unless a test tells it not to. */
export class FakePaymentGateway {
  readonly charges: Charge[] = [];
  /** What a charge does before it is made. */
  before: (charge: Charge) => void | Promise<void> = () => {};

  async charge(charge: Charge): Promise<void> {
    await this.before(charge);
    this.charges.push(charge);
  }
}
