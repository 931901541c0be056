import { Injectable, UseFilters, UseGuards, ValidationPipe } from '@nestjs/common';
import { DelayedHandler, Payload } from 'nestjs-delay-queue';
import { invalidInvoice } from './invalid-invoice.js';
import { InvoiceErrorFilter } from './invoice-error.filter.js';
import { invoiceMail } from './invoice-mail.topic.js';
import { InvoiceDto } from './invoice.dto.js';
import { MailService } from './mail.service.js';
import { TenantGuard } from './tenant.guard.js';

@Injectable()
@UseGuards(TenantGuard)
@UseFilters(InvoiceErrorFilter)
export class InvoiceMailHandler {
  constructor(private readonly mail: MailService) {}

  @DelayedHandler(invoiceMail)
  async send(
    @Payload(new ValidationPipe({ transform: true, whitelist: true, exceptionFactory: invalidInvoice }))
    invoice: InvoiceDto,
  ): Promise<void> {
    await this.mail.send(invoice);
  }
}
