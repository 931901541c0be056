import { Injectable, Logger } from '@nestjs/common';
import type { InvoiceDto } from './invoice.dto.js';
import { AlreadyMailedError, UnknownCustomerError } from './invoice.errors.js';

/** Stands for a mail server and a list of customers. */
@Injectable()
export class MailService {
  private readonly logger = new Logger(MailService.name);
  private readonly addresses = new Map([['ada', 'ada@example.com']]);
  private readonly mailed = new Set<string>();

  /** @throws UnknownCustomerError, AlreadyMailedError */
  async send({ number, customer, amount, payBy }: InvoiceDto): Promise<void> {
    const address = this.addresses.get(customer);
    if (address === undefined) throw new UnknownCustomerError(customer);
    if (this.mailed.has(number)) throw new AlreadyMailedError(number);
    this.mailed.add(number);
    this.logger.log(`To ${address}: invoice ${number}, ${amount} cents to be paid by ${payBy.toDateString()}`);
  }
}
