/** A business rule forbids the call, so a retry would fail again. */
export abstract class InvoiceError extends Error {}

export class UnknownCustomerError extends InvoiceError {
  override readonly name = 'UnknownCustomerError';

  constructor(customer: string) {
    super(`There is no customer ${customer}`);
  }
}

export class AlreadyMailedError extends InvoiceError {
  override readonly name = 'AlreadyMailedError';

  constructor(number: string) {
    super(`Invoice ${number} has been mailed before`);
  }
}
