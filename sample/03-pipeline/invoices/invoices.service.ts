import { Injectable, NotFoundException } from '@nestjs/common';
import { DelayQueueAdmin, DelayQueueProducer } from 'nestjs-delay-queue';
import { AppConfig } from '../config/app.config.js';
import { invoiceMail, TENANT } from './invoice-mail.topic.js';
import type { InvoiceMailStatus } from './invoice-mail-status.interface.js';

@Injectable()
export class InvoicesService {
  constructor(
    private readonly producer: DelayQueueProducer,
    private readonly admin: DelayQueueAdmin,
    private readonly config: AppConfig,
  ) {}

  /** @returns the id of the message */
  async mailLater(invoice: unknown, tenant: string | undefined): Promise<string> {
    const headers = tenant === undefined ? {} : { [TENANT]: tenant };
    const { id } = await this.producer.publish(invoiceMail, invoice, { delay: this.config.mailDelay, headers });
    return id;
  }

  async statusOf(id: string): Promise<InvoiceMailStatus> {
    const details = await this.admin.get(invoiceMail, id);
    if (!details) throw new NotFoundException(`Message ${id} has been handled, or there was none`);
    const { state, attempts, failure } = details;
    return { state, attempts, reason: failure?.reason, error: failure?.message };
  }
}
