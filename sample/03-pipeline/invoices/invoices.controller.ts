import { Body, Controller, Get, Headers, HttpCode, HttpStatus, Param, Post } from '@nestjs/common';
import type { InvoiceMailStatus } from './invoice-mail-status.interface.js';
import { TENANT } from './invoice-mail.topic.js';
import { InvoicesService } from './invoices.service.js';

/** Accepts everything and answers at once, as senders of webhooks expect. */
@Controller('invoices')
export class InvoicesController {
  constructor(private readonly invoices: InvoicesService) {}

  @Post()
  @HttpCode(HttpStatus.ACCEPTED)
  async accept(@Body() body: unknown, @Headers(TENANT) tenant?: string): Promise<{ id: string }> {
    return { id: await this.invoices.mailLater(body ?? null, tenant) };
  }

  @Get(':id')
  status(@Param('id') id: string): Promise<InvoiceMailStatus> {
    return this.invoices.statusOf(id);
  }
}
