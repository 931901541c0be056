import { Module } from '@nestjs/common';
import { InvoiceMailHandler } from './invoice-mail.handler.js';
import { InvoicesController } from './invoices.controller.js';
import { InvoicesService } from './invoices.service.js';
import { MailService } from './mail.service.js';

@Module({
  controllers: [InvoicesController],
  providers: [InvoicesService, InvoiceMailHandler, MailService],
})
export class InvoicesModule {}
