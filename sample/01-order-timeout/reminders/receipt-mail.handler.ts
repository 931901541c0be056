import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { MailService } from './mail.service.js';
import { type Reminder, receiptMail } from './reminder.topics.js';

/** Flaky: what it calls fails for a while, and the retries get over it. */
@Injectable()
export class ReceiptMailHandler {
  constructor(private readonly mail: MailService) {}

  @DelayedHandler(receiptMail, { attempts: 5, backoff: { type: 'fixed', delay: '300ms' } })
  async send({ item }: Reminder, message: DelayedMessage<Reminder>): Promise<void> {
    // The id is the same in every delivery, so a process that dies between the mail and its acknowledgement mails once.
    await this.mail.send({ idempotencyKey: message.id, text: `Thank you for your order of ${item}` });
  }
}
